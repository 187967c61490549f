import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadWatchManifests } from './load.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'watches-'));
});
afterEach(() => rm(dir, { recursive: true }));

const SPEC = '{ query: q, surfaces: [engine_news], schedule: { every: 1h } }';
const yamlOf = (metadata: string, spec = SPEC): string =>
  `apiVersion: searchcapture.io/v1alpha1\nkind: Watch\nmetadata: ${metadata}\nspec: ${spec}\n`;
const put = (name: string, content: string): Promise<void> => writeFile(join(dir, name), content);

describe('the watches of a folder', () => {
  it('are the documents that a cluster takes, those of the samples among them', async () => {
    const samples = join(import.meta.dirname, '../../../config/samples');
    for (const name of ['watch.yaml', 'watch-full.yaml']) await copyFile(join(samples, name), join(dir, name));
    expect(await loadWatchManifests(dir)).toEqual([
      {
        name: 'default/city-bikes-europe',
        where: join(dir, 'watch-full.yaml'),
        suspended: false,
        draft: {
          name: 'City bikes in Europe',
          query: 'Which city bikes are best?',
          surfaces: ['assistant_one', 'engine_ai_overview'],
          regions: [
            { country: 'DE', language: 'de' },
            { country: 'US', state: 'New York', city: 'New York', language: 'en-US' },
          ],
          extract: { targets: ['Acme Bikes', 'example.com'] },
          webhookUrl: 'https://hooks.example.com/search-capture',
          intervalMinutes: 90,
        },
      },
      {
        name: 'default/city-bikes',
        where: join(dir, 'watch.yaml'),
        suspended: false,
        draft: {
          name: 'City bikes',
          query: 'Which city bikes are best?',
          surfaces: ['assistant_one', 'engine_search'],
          regions: [],
          extract: null,
          webhookUrl: null,
          intervalMinutes: 60,
        },
      },
    ]);
  });

  it('may stand beside lanes, need no Secret, and may be suspended', async () => {
    await put(
      'a.yaml',
      `kind: CaptureLane\n---\n${yamlOf('{ name: w, namespace: team-a }', SPEC.replace('{', '{ suspend: true,'))}`,
    );
    expect(await loadWatchManifests(dir)).toMatchObject([
      { name: 'team-a/w', where: `${join(dir, 'a.yaml')} (document 2)`, suspended: true },
    ]);
  });

  it.each([
    ['no name', yamlOf('{}'), 'metadata.name'],
    ['a name that no resource can have', yamlOf('{ name: City_Bikes }'), 'metadata.name must be lower-case'],
    ['another version', yamlOf('{ name: w }').replace('v1alpha1', 'v2'), 'apiVersion'],
    ['no spec', 'apiVersion: searchcapture.io/v1alpha1\nkind: Watch\nmetadata: { name: w }', 'spec'],
    ['a field too many', `${yamlOf('{ name: w }')}colour: red\n`, 'colour'],
    [
      'an unknown field of the spec',
      yamlOf('{ name: w }', SPEC.replace('{', '{ prompt: x,')),
      'spec: prompt is unknown',
    ],
    ['an empty question', yamlOf('{ name: w }', SPEC.replace('q,', '"",')), 'spec: query must not be empty'],
    ['no surface of ours', yamlOf('{ name: w }', SPEC.replace('engine_news', 'bing')), 'bing'],
    ['a suspension that is a text', yamlOf('{ name: w }', SPEC.replace('{', '{ suspend: "no",')), 'spec.suspend'],
    [
      'half a reference',
      yamlOf('{ name: w }', SPEC.replace('{', '{ apiKeySecretRef: { name: x },')),
      'apiKeySecretRef.key',
    ],
    ['a name twice', `${yamlOf('{ name: w }')}---\n${yamlOf('{ name: w, namespace: default }')}`, 'is taken already'],
  ])('are refused with %s, by file and field', async (_, content, words) => {
    await put('b.yaml', content);
    await expect(loadWatchManifests(dir)).rejects.toThrow(words);
    await expect(loadWatchManifests(dir)).rejects.toThrow('b.yaml');
  });
});
