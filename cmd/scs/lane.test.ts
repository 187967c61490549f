import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDemoServer, type DemoServer } from '../../pkg/demo/index.ts';
import type { Values } from './command.ts';
import { printSchema, tryOneLane } from './lane.ts';
import { readRegion } from './region.ts';

const LANES = fileURLToPath(new URL('../../config/lanes', import.meta.url));

let demo: DemoServer;
let dir: string;
beforeAll(async () => {
  demo = await createDemoServer({ host: '127.0.0.1', port: 0 });
  dir = await mkdtemp(join(tmpdir(), 'lane-try-'));
});
afterAll(async () => {
  await demo.close();
  await rm(dir, { recursive: true, force: true });
});

/** A lane of the demo, changed. */
async function lane(name: string, change: (text: string) => string = (text) => text): Promise<string> {
  const text = (await readFile(join(LANES, `${name}.yaml`), 'utf8')).replaceAll('http://127.0.0.1:8090', demo.url);
  const file = join(dir, `${name}-${Math.random().toString(36).slice(2)}.yaml`);
  await writeFile(file, change(text));
  return file;
}

type Data = {
  outcome: string;
  detail?: string;
  steps: { path: string; step: string; failure: string | null; matches: number; nearby: { selector: string }[] }[];
  selectors: { path: string; matches: number; nearby: { selector: string }[] }[];
  signals: { name: string; atMs: number }[];
  envelope: { job: { status: string }; answer: { text: string }; provenance: { region: unknown } };
  files: string[];
};

async function run(file: string, values: Values = {}) {
  const result = await tryOneLane({ query: 'best crm', ...values }, [file]);
  return { ...result, data: result.data as Data };
}

describe('scs lane try', () => {
  it('tells what each step and selector found, the signals and the envelope', async () => {
    const { data, text, exitCode } = await run(await lane('assistant_three'), { region: 'DE:Berlin:de' });
    expect(exitCode).toBe(0);
    expect(data.outcome).toBe('completed');
    expect(data.steps.map(({ path, failure, matches }) => [path, failure, matches])).toEqual([
      ['ask[0]', null, 1],
      ['ask[1]', null, 1],
      ['read.before[0]', null, 1],
    ]);
    expect(data.selectors.find(({ path }) => path === 'read.answer')).toMatchObject({ matches: 1 });
    expect(data.signals.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['busy', 'text', 'stream ended', 'quiet']),
    );
    expect(data.envelope.job.status).toBe('completed');
    expect(data.envelope.provenance.region).toMatchObject({
      requested: { country: 'DE', city: 'Berlin', language: 'de' },
    });
    for (const heading of ['Steps:', 'Signals, in ms after the question:', 'Outcome:', 'Envelope:'])
      expect(text).toContain(heading);
    expect(text).toContain(data.envelope.answer.text.split('\n')[0] ?? 'no text');
  });

  it('names what stands in the page near a selector that finds nothing, and keeps a picture', async () => {
    const broken = await lane('assistant_three', (text) =>
      text.replace('fill: textarea', 'fill: textarae').replace('captureSeconds: 60', 'captureSeconds: 8'),
    );
    const { data, text, exitCode } = await run(broken);
    expect(exitCode).toBe(1);
    expect(data.steps[0]).toMatchObject({ step: 'fill textarae', matches: 0 });
    expect(data.steps[0]?.nearby.map(({ selector }) => selector)).toContain('textarea');
    expect(data.steps[0]?.failure).toContain('nothing in the page matches');
    expect(text).toMatch(/nearest in the page: .*textarea/);
    const picture = data.files.find((file) => file.endsWith('.png')) ?? '';
    expect((await readFile(picture)).subarray(1, 4).toString()).toBe('PNG');
  });

  it('says which part of a selector fails where the answer is not found', async () => {
    const broken = await lane('engine_search', (text) => text.replace('item: .result', 'item: main .reslut'));
    const { data, text } = await run(broken);
    expect(data.outcome).toBe('empty');
    expect(text).toContain('"main" matches, ".reslut" in it does not');
    expect(data.selectors.find(({ path }) => path === 'read.results.item')?.nearby[0]?.selector).toContain('result');
  });

  it('leaves a trace, the page and its proof in a folder', async () => {
    const trace = join(dir, 'trace');
    const { data } = await run(await lane('engine_news'), { trace });
    expect(data.files.map((file) => file.slice(trace.length + 1)).sort()).toEqual([
      'engine-news.png',
      'page.html',
      'proof.html',
      'trace.zip',
    ]);
  });

  it('works for lanes without a browser', async () => {
    const { data, text } = await run(await lane('assistant_two'));
    expect(data).toMatchObject({ outcome: 'completed', steps: [], selectors: [] });
    expect(text).not.toContain('Steps:');
  });

  it.each<[string, Values, (name: string) => Promise<string | undefined>, string]>([
    ['no file', {}, () => Promise.resolve(undefined), 'which file?'],
    ['no question', { query: ' ' }, () => lane('engine_news'), '--query is required'],
    ['a file that is not there', {}, () => Promise.resolve('/no/such.yaml'), 'no such file'],
    ['a region that is none', { region: 'Germany' }, () => lane('engine_news'), '--region must be country'],
    ['a language that is none', { region: 'DE::x' }, () => lane('engine_news'), 'x is no language'],
    ['another name', { name: 'other' }, () => lane('engine_news'), '--name: the file holds engine-news'],
    [
      'a wrong selector',
      {},
      () => lane('engine_news', (text) => text.replace('item: .story', "item: '.story['")),
      'spec.profile.read.results.item: is no selector',
    ],
  ])('refuses %s in plain words', async (_, values, file, message) => {
    const given = await file('');
    await expect(tryOneLane({ query: 'x', ...values }, given === undefined ? [] : [given])).rejects.toThrow(message);
  });
});

describe('a region on the command line', () => {
  it.each([
    ['DE', { country: 'DE' }],
    ['de:Köln', { country: 'DE', city: 'Köln' }],
    ['US::en-us', { country: 'US', language: 'en-US' }],
    [undefined, null],
  ])('%s', (given, region) => {
    expect(readRegion(given)).toEqual(region);
  });
});

it('scs lane schema prints what config/lanes holds', async () => {
  const { text } = await printSchema();
  expect(JSON.parse(text)).toEqual(JSON.parse(await readFile(join(LANES, 'profile.schema.json'), 'utf8')));
});
