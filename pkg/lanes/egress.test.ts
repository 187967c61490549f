import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readProxies } from './egress.ts';
import { parseLane, type CaptureLane } from './lane.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secrets-'));
  await mkdir(join(folder, 'egress'));
  await writeFile(join(folder, 'egress', 'de'), 'http://me:secret@proxy.example:3128\n');
  await writeFile(join(folder, 'egress', 'bad'), 'me:secret');
});
afterAll(() => rm(folder, { recursive: true }));

function laneWith(egress: unknown): CaptureLane {
  return parseLane(
    {
      apiVersion: 'searchcapture.io/v1alpha1',
      kind: 'CaptureLane',
      metadata: { name: 'mine' },
      spec: {
        surface: 'assistant_two',
        driver: 'model',
        model: { endpoint: 'https://x.example/v1', model: 'm' },
        egress,
      },
    },
    'mine.yaml',
  );
}

describe('the proxies of a lane', () => {
  it('are read from the files of their secrets', async () => {
    const lane = laneWith([{ country: 'DE', proxySecretRef: { name: 'egress', key: 'de' } }]);
    expect(await readProxies(lane, folder)).toEqual(new Map([['DE', 'http://me:secret@proxy.example:3128']]));
    expect(await readProxies(laneWith([]), '/nowhere')).toEqual(new Map());
  });

  it.each([
    ['egress', 'fr', /^lane mine: spec.egress\[0\].proxySecretRef: \/.*\/egress\/fr can't be read/],
    ['egress', 'bad', /^lane mine: spec.egress\[0\].proxySecretRef: it must be a URL like (?!.*me:secret)/],
    ['..', 'de', /"\.\." is not the name of a Secret/],
    ['egress', '../egress/de', /"\.\.\/egress\/de" is not the name of a Secret/],
  ])('are missed with one line where %s/%s is none', async (name, key, message) => {
    const lane = laneWith([{ country: 'DE', proxySecretRef: { name, key } }]);
    await expect(readProxies(lane, folder)).rejects.toThrow(message);
  });
});
