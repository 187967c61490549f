import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SURFACES } from '../contract/index.ts';
import { loadLanes } from './load.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'lanes-'));
});
afterEach(() => rm(dir, { recursive: true }));

const yamlOf = (name: string, surface: string, endpoint = 'http://127.0.0.1:8090/v1'): string => `
apiVersion: searchcapture.io/v1alpha1
kind: CaptureLane
metadata: { name: ${name} }
spec: { surface: ${surface}, driver: model, model: { endpoint: '${endpoint}', model: m } }
`;
const put = (name: string, content: string): Promise<void> => writeFile(join(dir, name), content);
const names = async (): Promise<string[]> => (await loadLanes(dir)).map(({ metadata }) => metadata.name);

describe('a folder of lanes', () => {
  it('is read in the order of its files and documents, without its subfolders and other files', async () => {
    await put('b.yaml', yamlOf('third', 'assistant_three'));
    await put(
      'a.yaml',
      `${yamlOf('first', 'assistant_one')}---${yamlOf('second', 'assistant_two')}---\n# nothing more\n`,
    );
    await put('notes.md', 'not yaml: [');
    await mkdir(join(dir, 'more.yaml'));
    await writeFile(join(dir, 'more.yaml', 'c.yaml'), yamlOf('fourth', 'assistant_five'));
    expect(await names()).toEqual(['first', 'second', 'third']);
  });

  it('may hold watches, which are left to others', async () => {
    await put('a.yaml', `kind: Watch\n---${yamlOf('one', 'assistant_one')}`);
    expect(await names()).toEqual(['one']);
  });

  it('may point at another origin than its files say', async () => {
    await put('a.yaml', yamlOf('one', 'assistant_one'));
    const [lane] = await loadLanes(dir, { replaceOrigin: { 'http://127.0.0.1:8090': 'http://127.0.0.1:4711' } });
    expect(lane?.spec).toMatchObject({ model: { endpoint: 'http://127.0.0.1:4711/v1' } });
  });

  it.each([
    {
      wrong: 'the same name twice',
      content: yamlOf('one', 'assistant_five'),
      message: 'metadata.name "one" is taken already by',
    },
    {
      wrong: 'the same surface twice',
      content: yamlOf('other', 'assistant_one'),
      message: 'spec.surface "assistant_one" is taken already by',
    },
    { wrong: 'broken YAML', content: 'a: [', message: 'b.yaml: ' },
    { wrong: 'a key twice', content: 'kind: a\nkind: b', message: 'Map keys must be unique' },
    {
      wrong: 'a second document that is neither lane nor watch',
      content: `${yamlOf('two', 'assistant_two')}---\nkind: Widget`,
      message: 'b.yaml (document 2): ',
    },
  ])('is refused with $wrong', async ({ content, message }) => {
    await put('a.yaml', yamlOf('one', 'assistant_one'));
    await put('b.yaml', content);
    await expect(loadLanes(dir)).rejects.toThrow(message);
    await expect(loadLanes(dir)).rejects.toThrow('b.yaml');
  });

  it('must exist', async () => {
    await expect(loadLanes(join(dir, 'none'))).rejects.toThrow('ENOENT');
  });
});

describe('the lanes of the demo', () => {
  it('make every surface live but assistant_four', async () => {
    const lanes = await loadLanes(join(import.meta.dirname, '../../config/lanes'));
    const surfaces = lanes.map(({ spec }) => spec.surface).toSorted();
    expect(surfaces).toEqual(SURFACES.filter((surface) => surface !== 'assistant_four').toSorted());
    expect(lanes.every(({ spec }) => !spec.suspend)).toBe(true);
  });
});
