import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCommand } from '../../pkg/runtime/index.ts';
import { startService, type TestService } from '../support/service.ts';

const tool = (name: string) => fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));

const CONFIG = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    rootDir: '.',
    outDir: 'built',
  },
};

/** What somebody would write who has read nothing but the document: all of it is checked by the generated types. */
const CALLS = `
import { client } from './client/client.gen.js';
import { cancelJob, createWatch, getHealth, getJob, getUsage, listJobs, search, searchBatch, searchSurface } from './client/index.js';

declare const process: { argv: string[] };
const [, , baseUrl, auth] = process.argv;
client.setConfig({ baseUrl, auth });

const waited = await searchSurface({ path: { surface: 'engine_news' }, body: { query: 'bicycles', country: 'DE' } });
if (waited.data === undefined || !('job' in waited.data)) throw new Error('no envelope');
const { job, answer, evidence, credits } = waited.data;
const firstSource: { id: number; url: string; cited: boolean } | undefined = evidence.sources[0];

const accepted = await search({
  body: { query: 'bicycles', surfaces: ['engine_search', 'engine_news'], regions: ['US', { country: 'DE', city: 'Berlin' }] },
  query: { mode: 'async' },
});
if (accepted.data === undefined || !('children' in accepted.data)) throw new Error('not accepted');
const parent = await getJob({ path: { id: accepted.data.jobId } });
const child = await getJob({ path: { id: accepted.data.children[3] ?? '' } });
const canceled = await cancelJob({ path: { id: accepted.data.jobId } });

const batch = await searchBatch({
  body: { items: [{ query: 'q', surfaces: ['engine_news'], extract: { targets: ['Acme'] } }, { query: '', surfaces: ['engine_news'] }] },
});
const page = await listJobs({ query: { limit: 1, surface: 'engine_news' } });
const next = await listJobs({ query: { limit: 1, surface: 'engine_news', cursor: page.data?.nextCursor ?? '' } });
const usage = await getUsage();
const health = await getHealth({ query: { probe: 'deep' } });
const watch = await createWatch({ body: { query: 'q', surfaces: ['engine_news'], schedule: { every: '1h' } } });
const missing = await getJob({ path: { id: 'job_nope' } });

console.log(JSON.stringify({
  waited: [job.status, answer.text.length > 0, firstSource?.url.startsWith('http'), credits.creditsCharged],
  accepted: [accepted.response?.status, accepted.data.status, accepted.data.credits.creditsToCharge],
  parent: parent.data !== undefined && 'job' in parent.data && parent.data.job.id === accepted.data.jobId,
  child: child.data !== undefined && 'job' in child.data && child.data.job.id === accepted.data.children[3],
  canceled: canceled.data?.job.id === accepted.data.jobId,
  batch: batch.data?.items.map((item) => (item.status === 'accepted' ? item.credits.creditsToCharge : item.code)),
  pages: [page.data?.items.length, next.data?.items.length, page.data?.items[0]?.id !== next.data?.items[0]?.id],
  usage: usage.data?.usage.totals.creditsCharged,
  health: health.data?.bindings,
  watch: watch.data?.watch.schedule.intervalMinutes,
  missing: missing.error?.code,
}));
`;

const WRONG: [string, string][] = [
  ['a surface that does not exist', `search({ body: { query: 'q', surfaces: ['engine_x'] } })`],
  ['a field that does not exist', `search({ body: { query: 'q', surfaces: ['engine_news'], colour: 'red' } })`],
  ['no surfaces', `search({ body: { query: 'q' } })`],
  ['a state that does not exist', `listJobs({ query: { state: 'done' } })`],
];

let service: TestService;
let dir: string;

async function write(name: string, text: string): Promise<void> {
  await writeFile(join(dir, name), text);
}

const compile = () => runCommand(tool('tsc'), ['-p', dir], { timeoutMs: 120_000 });

beforeAll(async () => {
  service = await startService();
  dir = await mkdtemp(join(tmpdir(), 'search-capture-client-'));
  await write('openapi.json', (await service.call('GET', '/openapi.json')).text);
  await write('package.json', JSON.stringify({ type: 'module' }));
  await write('tsconfig.json', JSON.stringify({ ...CONFIG, include: ['client', 'calls.ts'] }));
  const options = ['-i', 'openapi.json', '-o', 'client', '-c', '@hey-api/client-fetch', '--no-log-file', '--silent'];
  await runCommand(tool('openapi-ts'), options, { cwd: dir, timeoutMs: 120_000 });
}, 240_000);
afterAll(async () => {
  await service.close();
  await rm(dir, { recursive: true, force: true });
});

describe('a client that is generated from the document', () => {
  it('compiles strictly, and its typed calls work', async () => {
    await write('calls.ts', CALLS);
    await compile();
    const printed = await runCommand(process.execPath, ['built/calls.js', service.api.url, service.key], {
      cwd: dir,
      timeoutMs: 120_000,
    });
    expect(JSON.parse(printed)).toEqual({
      waited: ['completed', true, true, 3],
      accepted: [202, 'processing', 12],
      parent: true,
      child: true,
      canceled: true,
      batch: [3, 'VALIDATION_FAILED'],
      pages: [1, 1, true],
      usage: expect.any(Number),
      health: { artifacts: true, edgeCache: true, database: true },
      watch: 60,
      missing: 'JOB_NOT_FOUND',
    });
  }, 240_000);

  it.each(WRONG)(
    'does not compile with %s',
    async (_, call) => {
      const head = `import { listJobs, search } from './client/index.js';\nvoid listJobs;\nvoid search;\n`;
      await write('calls.ts', `${head}// @ts-expect-error\nawait ${call};\n`);
      await compile();
    },
    120_000,
  );
});
