import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { applyWatches } from '../../cmd/standalone/watches.ts';
import { query } from '../../pkg/postgres/index.ts';
import { loadWatchManifests, type Applied } from '../../pkg/watches/index.ts';
import { openAccount, openKey, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { openTestProcesses, type TestProcess, type TestProcesses } from '../support/processes.ts';
import { findEmptyRedis } from '../support/redis.ts';
import { callApi, type Answer } from '../support/service.ts';

let database: TestDatabase;
let processes: TestProcesses;
let api: TestProcess;
let dir: string;
let key: string;

beforeAll(async () => {
  database = await openTestDatabase();
  processes = await openTestProcesses({
    DATABASE_URL: database.url,
    REDIS_URL: await findEmptyRedis(),
    API_KEY_PEPPER: TEST_PEPPER,
    SECRETS_KEYRING: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  });
  api = await processes.start('api');
}, 90_000);
afterAll(async () => {
  await processes.close();
  await database.close();
});
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'manifests-'));
  key = await openNewKey();
});
afterEach(async () => {
  // One machine has one folder: what a test leaves would be canceled by the next.
  await write();
  await start();
  await rm(dir, { recursive: true });
});

async function openNewKey(): Promise<string> {
  return (await openKey(database.db, await openAccount(database.db))).key;
}

type Spec = { name: string; every?: string; query?: string; suspend?: boolean; webhookUrl?: string };

/** Writes the folder anew, as a person edits it between two starts. */
async function write(...watches: Spec[]): Promise<void> {
  const documents = watches.map(({ name, every = '1h', query: question = 'which bicycle is best?', ...more }) => {
    const spec = { query: question, surfaces: ['engine_news'], schedule: { every }, ...more };
    const resource = { apiVersion: 'searchcapture.io/v1alpha1', kind: 'Watch', metadata: { name }, spec };
    return JSON.stringify(resource);
  });
  await writeFile(join(dir, 'watches.yaml'), documents.join('\n---\n'));
}

/** What a start of the service on this machine does. */
async function start(): Promise<Applied> {
  const env = { DATABASE_URL: database.url, API_KEY_PEPPER: TEST_PEPPER };
  return applyWatches(env, key, await loadWatchManifests(dir));
}

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  callApi(api.url, key, method, path, body);
const NOTHING = { created: 0, changed: 0, unchanged: 0, canceled: 0, problems: [] };

it('watches of manifests are made, followed and canceled at each start', async () => {
  await write({ name: 'bikes' }, { name: 'trams', suspend: true });
  expect(await start()).toEqual({ ...NOTHING, created: 2 });
  const first = (await call('GET', '/v1/watches')).body.items;
  expect(first).toMatchObject([
    { status: 'paused', pausedReason: 'user' },
    { status: 'active', query: 'which bicycle is best?', schedule: { every: '1h' } },
  ]);
  expect(await start()).toEqual({ ...NOTHING, unchanged: 2 });
  expect((await call('GET', '/v1/watches')).body.items).toEqual(first);

  await write({ name: 'bikes', every: '6h', query: 'which city bicycle is best?' }, { name: 'trams' });
  expect(await start()).toEqual({ ...NOTHING, changed: 2 });
  expect((await call('GET', '/v1/watches')).body.items).toMatchObject([
    { id: first[0]?.id, status: 'active', pausedReason: null },
    { id: first[1]?.id, query: 'which city bicycle is best?', schedule: { every: '6h' } },
  ]);

  await write({ name: 'trams' });
  expect(await start()).toEqual({ ...NOTHING, unchanged: 1, canceled: 1 });
  expect((await call('GET', '/v1/watches?status=canceled')).body.items).toMatchObject([{ id: first[1]?.id }]);
  await write();
  expect(await start()).toEqual({ ...NOTHING, canceled: 1 });
});

it('a watch of a manifest is read like any other, and a change is refused with the name of the manifest', async () => {
  await write({ name: 'bikes' });
  await start();
  const path = `/v1/watches/${(await call('GET', '/v1/watches')).body.items[0]?.id}`;
  expect((await call('GET', path)).status).toBe(200);
  for (const [method, body] of [
    ['PATCH', { status: 'paused' }],
    ['DELETE', undefined],
  ] as const) {
    const answer = await call(method, path, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(answer.body.error).toContain('the manifest of the Watch default/bikes');
  }
});

it('what a manifest may not have is told by its file, hinders no other, and leaves the watch as it was', async () => {
  await write({ name: 'bikes' }, { name: 'trams' });
  await start();
  await write(
    { name: 'bikes', every: '15m' },
    { name: 'trams', query: 'which tram is best?' },
    { name: 'planes', webhookUrl: 'https://10.0.0.1/' },
  );
  const { problems, ...counts } = await start();
  expect(counts).toMatchObject({ created: 0, changed: 1 });
  expect(problems).toEqual([
    expect.stringMatching(/^.*watches\.yaml: .*the plan free allows at least 60 minutes/),
    expect.stringMatching(/^.*watches\.yaml \(document 3\): webhookUrl must be a public https destination/),
  ]);
  expect((await call('GET', '/v1/watches')).body.items).toMatchObject([
    { query: 'which tram is best?' },
    { schedule: { every: '1h' } },
  ]);
});

it('what is gone leaves its room to what is new', async () => {
  await write(...['a', 'b', 'c', 'd', 'e'].map((name) => ({ name })));
  await start();
  await write(...['c', 'd', 'e', 'f', 'g'].map((name) => ({ name })));
  expect(await start()).toEqual({ ...NOTHING, created: 2, unchanged: 3, canceled: 2 });
  await write(...['c', 'd', 'e', 'f', 'g', 'h'].map((name) => ({ name })));
  expect((await start()).problems).toEqual([expect.stringContaining('allows 5 active watches')]);
});

it("watches that a person made, and a cluster's, are left alone; those of an earlier demo account end", async () => {
  await call('POST', '/v1/watches', { query: 'q', surfaces: ['engine_news'], schedule: { every: '1h' } });
  const other = (
    await call('POST', '/v1/watches', { query: 'q', surfaces: ['engine_news'], schedule: { every: '1d' } })
  ).body.watch;
  await query(
    database.db.system,
    `UPDATE watches SET managed_by = 'watches.searchcapture.io/default/bikes' WHERE id = :id`,
    { id: other.id },
  );
  await write({ name: 'bikes' });
  expect(await start()).toEqual({ ...NOTHING, created: 1 });
  const before = key;
  key = await openNewKey();
  expect(await start()).toEqual({ ...NOTHING, created: 1, canceled: 1 });
  const { body } = await callApi(api.url, before, 'GET', '/v1/watches?status=active');
  expect(body.items).toHaveLength(2);
});
