import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KeyMode, Scope } from '../../pkg/accounts/index.ts';
import type { Watch } from '../../pkg/contract/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import type { TestProcess } from '../support/processes.ts';
import { callApi, startService, type Answer, type TestService } from '../support/service.ts';

let service: TestService;
let second: TestProcess;

beforeAll(async () => {
  service = await startService();
  [second] = await Promise.all([service.processes.start('api'), service.lane.stop()]);
}, 90_000);
afterAll(async () => {
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
  await service.close();
});

const BODY = { query: 'which bicycle is best?', surfaces: ['engine_news'], schedule: { every: '1h' } };
const HOUR_MS = 3_600_000;

type Client = {
  accountId: string;
  call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  create: (changes?: object) => Promise<Watch>;
};

type Newcomer = { plan?: string; credits?: number; mode?: KeyMode; scopes?: Scope[] };

async function newcomer({ plan = 'pro', credits = 500, mode = 'live', scopes = [] }: Newcomer = {}): Promise<Client> {
  const accountId = await openAccount(service.database.db, { credits, plan });
  const { key } = await openKey(service.database.db, accountId, mode, scopes);
  let calls = 0;
  // In turns on both processes: nothing may depend on which of them answers.
  const call: Client['call'] = (method, path, body, headers) => {
    calls += 1;
    return callApi(calls % 2 === 0 ? second.url : service.api.url, key, method, path, body, headers);
  };
  const create: Client['create'] = async (changes = {}) => {
    const { status, body } = await call('POST', '/v1/watches', { ...BODY, ...changes });
    expect(status).toBe(201);
    return body.watch;
  };
  return { accountId, call, create };
}

function msUntilNextRun(watch: Watch): number {
  return Date.parse(watch.nextRunAt) - Date.now();
}

describe('a new watch', () => {
  it('is active, shows all its fields, and first runs one interval from now', async () => {
    const { create } = await newcomer();
    const watch = await create({
      name: 'Bicycles',
      surfaces: ['engine_news', 'assistant_one', 'engine_news'],
      regions: ['de', { country: 'US', city: 'Los Angeles' }],
      extract: true,
      webhookUrl: 'https://203.0.114.9/captures',
      schedule: { intervalMinutes: 90 },
    });
    expect(watch).toEqual({
      id: expect.stringMatching(/^watch_[0-9a-z]{26}$/),
      name: 'Bicycles',
      query: BODY.query,
      surfaces: ['engine_news', 'assistant_one'],
      regions: [{ country: 'DE' }, { country: 'US', city: 'Los Angeles' }],
      extract: { targets: [] },
      webhookUrl: 'https://203.0.114.9/captures',
      schedule: { every: '90m', intervalMinutes: 90 },
      status: 'active',
      pausedReason: null,
      nextRunAt: new Date(Date.parse(watch.createdAt) + 1.5 * HOUR_MS).toISOString(),
      lastRunAt: null,
      lastJobId: null,
      createdAt: expect.any(String),
    });
  });

  it('needs no credits, and takes none', async () => {
    const { create, call } = await newcomer({ credits: 0 });
    expect(await create()).toMatchObject({ name: '', regions: [], extract: null, webhookUrl: null });
    expect((await call('GET', '/v1/usage')).text).toContain('"balance":{"total":0,"reserved":0,"available":0}');
  });

  it('may name a surface that is not live', async () => {
    const { create } = await newcomer();
    expect((await create({ surfaces: ['assistant_four'] })).surfaces).toEqual(['assistant_four']);
  });

  it.each([
    ['a body without query', { query: undefined }, 400, 'VALIDATION_FAILED', 'query'],
    ['the alias prompt', { prompt: 'x' }, 400, 'VALIDATION_FAILED', 'prompt'],
    ['an unknown surface', { surfaces: ['engine_x'] }, 400, 'UNSUPPORTED_SURFACE', 'engine_x'],
    ['eleven regions', { regions: Array(11).fill('US') }, 422, 'TOO_MANY_REGIONS', ''],
    ['a query of 2001', { query: 'x'.repeat(2001) }, 422, 'QUERY_TOO_LONG', 'query'],
    ['both forms of schedule', { schedule: { every: '1h', intervalMinutes: 60 } }, 400, 'VALIDATION_FAILED', 'every'],
    ['an unknown interval', { schedule: { every: '2h' } }, 400, 'VALIDATION_FAILED', '15m, 30m, 1h, 6h, 12h, 1d, 7d'],
    ['a private destination', { webhookUrl: 'https://10.0.0.1/' }, 400, 'VALIDATION_FAILED', 'webhookUrl'],
    ['a destination over http', { webhookUrl: 'http://203.0.114.9/' }, 400, 'VALIDATION_FAILED', 'webhookUrl'],
    ['an interval under the floor', { schedule: { intervalMinutes: 14 } }, 422, 'WATCH_INTERVAL_TOO_SHORT', '15'],
  ])('with %s is refused', async (_, changes, status, code, words) => {
    const { call } = await newcomer();
    const answer = await call('POST', '/v1/watches', { ...BODY, ...changes });
    expect(answer).toMatchObject({ status, body: { code } });
    expect(answer.body.error).toContain(words);
  });

  it.each([
    ['free', 59, 60],
    ['pro', 14, 15],
  ])('on the plan %s can not run every %d minutes; the message names floor and plan', async (plan, below, floor) => {
    const { call, create } = await newcomer({ plan });
    const { status, body } = await call('POST', '/v1/watches', { ...BODY, schedule: { intervalMinutes: below } });
    expect([status, body.code]).toEqual([422, 'WATCH_INTERVAL_TOO_SHORT']);
    expect(body.error).toMatch(new RegExp(`\\b${plan}\\b.*\\b${floor}\\b`));
    await create({ schedule: { intervalMinutes: floor } });
  });
});

describe('the ceiling of active watches', () => {
  it('of 5 leaves 5 of 100 creates at once on two processes', async () => {
    const { call } = await newcomer({ plan: 'free' });
    const answers = await Promise.all(Array.from({ length: 100 }, () => call('POST', '/v1/watches', BODY)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.code}`))).toEqual(
      new Set(['403 WATCH_LIMIT_EXCEEDED']),
    );
    expect((await call('GET', '/v1/watches?status=active')).body.items).toHaveLength(5);
  }, 60_000);

  it('holds when paused watches are resumed at once, beside new ones', async () => {
    const { call, create } = await newcomer({ plan: 'free' });
    const paused: string[] = [];
    for (let index = 0; index < 8; index += 1) {
      const { id } = await create();
      await call('PATCH', `/v1/watches/${id}`, { status: 'paused' });
      paused.push(id);
    }
    const answers = await Promise.all([
      ...paused.map((id) => call('PATCH', `/v1/watches/${id}`, { status: 'active' })),
      ...Array.from({ length: 8 }, () => call('POST', '/v1/watches', BODY)),
    ]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(5);
    expect(answers.filter(({ body }) => body.code === 'WATCH_LIMIT_EXCEEDED')).toHaveLength(11);
    expect((await call('GET', '/v1/watches?status=active')).body.items).toHaveLength(5);
  }, 60_000);

  it('has room again when one is paused or canceled', async () => {
    const { call, create } = await newcomer({ plan: 'free' });
    const [first, other] = [await create(), await create(), await create(), await create(), await create()];
    expect((await call('POST', '/v1/watches', BODY)).status).toBe(403);
    await call('PATCH', `/v1/watches/${first.id}`, { status: 'paused' });
    await create();
    await call('DELETE', `/v1/watches/${other.id}`);
    await create();
    expect((await call('POST', '/v1/watches', BODY)).status).toBe(403);
  });
});

describe('an update', () => {
  it('changes what it names, and nothing else', async () => {
    const { call, create } = await newcomer();
    const before = await create({ name: 'a', extract: { targets: ['Acme'] }, webhookUrl: 'https://203.0.114.9/' });
    const update = async (body: object) => (await call('PATCH', `/v1/watches/${before.id}`, body)).body.watch;
    expect(await update({})).toEqual(before);
    expect(await update({ name: 'b' })).toEqual({ ...before, name: 'b' });
    expect(await update({ extract: false })).toEqual({ ...before, name: 'b', extract: null });
    expect(await update({ extract: {} })).toMatchObject({ extract: { targets: [] } });
    expect(await update({ webhookUrl: null })).toMatchObject({ webhookUrl: null });
    expect(await update({ webhookUrl: 'https://203.0.114.10/' })).toMatchObject({
      webhookUrl: 'https://203.0.114.10/',
      nextRunAt: before.nextRunAt,
    });
  });

  it('that pauses and resumes starts the interval over', async () => {
    const { call, create } = await newcomer();
    const { id } = await create();
    await query(
      service.database.db.system,
      `UPDATE watches SET next_run_at = now() + interval '1 minute', credit_skips = 2 WHERE id = :id`,
      { id },
    );
    const paused = await call('PATCH', `/v1/watches/${id}`, { status: 'paused' });
    expect(paused.body.watch).toMatchObject({ status: 'paused', pausedReason: 'user' });
    // Pausing what is paused changes nothing; resuming what is active neither.
    expect((await call('PATCH', `/v1/watches/${id}`, { status: 'paused' })).body).toEqual(paused.body);
    const resumed = (await call('PATCH', `/v1/watches/${id}`, { status: 'active' })).body.watch;
    expect(resumed).toMatchObject({ status: 'active', pausedReason: null });
    expect(Math.abs(msUntilNextRun(resumed) - HOUR_MS)).toBeLessThan(30_000);
    expect((await call('PATCH', `/v1/watches/${id}`, { status: 'active' })).body.watch).toEqual(resumed);
    const [row] = await query(service.database.db.system, 'SELECT credit_skips FROM watches WHERE id = :id', { id });
    expect(row).toEqual({ credit_skips: 0 });
  });

  it('to another interval starts it now; the same interval moves nothing', async () => {
    const { call, create } = await newcomer();
    const watch = await create();
    const same = await call('PATCH', `/v1/watches/${watch.id}`, { schedule: { intervalMinutes: 60 } });
    expect(same.body.watch).toEqual(watch);
    const { body } = await call('PATCH', `/v1/watches/${watch.id}`, { schedule: { every: '6h' } });
    expect(body.watch.schedule).toEqual({ every: '6h', intervalMinutes: 360 });
    expect(Math.abs(msUntilNextRun(body.watch) - 6 * HOUR_MS)).toBeLessThan(30_000);
  });

  it.each([
    ['canceled as a status', { status: 'canceled' }, 400, 'VALIDATION_FAILED', 'status'],
    ['an unknown field', { colour: 'red' }, 400, 'VALIDATION_FAILED', 'colour'],
    ['a query', { query: 'x' }, 400, 'VALIDATION_FAILED', 'query'],
    ['a loopback destination', { webhookUrl: 'https://127.0.0.1/' }, 400, 'VALIDATION_FAILED', 'webhookUrl'],
    ['an interval under the floor', { schedule: { intervalMinutes: 1 } }, 422, 'WATCH_INTERVAL_TOO_SHORT', '15'],
  ])('with %s is refused and changes nothing', async (_, change, status, code, words) => {
    const { call, create } = await newcomer();
    const watch = await create();
    const answer = await call('PATCH', `/v1/watches/${watch.id}`, { name: 'new', ...change });
    expect(answer).toMatchObject({ status, body: { code } });
    expect(answer.body.error).toContain(words);
    expect((await call('GET', `/v1/watches/${watch.id}`)).body.watch).toEqual(watch);
  });

  it('can not resume what runs more often than the plan allows', async () => {
    const { accountId, call, create } = await newcomer({ plan: 'pro' });
    const { id } = await create({ schedule: { every: '15m' } });
    await call('PATCH', `/v1/watches/${id}`, { status: 'paused' });
    await query(service.database.db.system, `UPDATE accounts SET plan = 'free' WHERE id = :accountId`, { accountId });
    const { key } = await openKey(service.database.db, accountId);
    const answer = await callApi(service.api.url, key, 'PATCH', `/v1/watches/${id}`, { status: 'active' });
    expect(answer).toMatchObject({ status: 422, body: { code: 'WATCH_INTERVAL_TOO_SHORT' } });
  });
});

describe('canceling', () => {
  it('is final, may be repeated, and keeps the runs', async () => {
    const { call, create, accountId } = await newcomer();
    const { id } = await create();
    await addRuns(accountId, id, 1);
    const canceled = { status: 200, body: { watch: { id, status: 'canceled' } } };
    expect(await call('DELETE', `/v1/watches/${id}`)).toMatchObject(canceled);
    expect(await call('DELETE', `/v1/watches/${id}`)).toMatchObject(canceled);
    expect((await call('GET', `/v1/watches/${id}`)).body).toMatchObject({
      watch: { status: 'canceled', pausedReason: null },
      runs: [{ watchId: id }],
    });
    for (const change of [{}, { name: 'x' }, { status: 'active' }])
      expect(await call('PATCH', `/v1/watches/${id}`, change)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED' },
      });
  });

  it('also ends a paused watch', async () => {
    const { call, create } = await newcomer();
    const { id } = await create();
    await call('PATCH', `/v1/watches/${id}`, { status: 'paused' });
    expect((await call('DELETE', `/v1/watches/${id}`)).body.watch).toEqual({ id, status: 'canceled' });
    expect((await call('GET', `/v1/watches?status=canceled`)).body.items).toMatchObject([{ id, pausedReason: null }]);
  });
});

/** Runs a minute apart, of which the last was skipped. */
async function addRuns(accountId: string, watchId: string, count: number): Promise<void> {
  await query(
    service.database.db.system,
    `INSERT INTO watch_runs (id, account_id, watch_id, scheduled_for, status, job_id, detail, created_at)
     SELECT 'wrun_01' || lpad(CAST(n AS text), 8, '0') || right(:watchId, 16), CAST(:accountId AS text), CAST(:watchId AS text), now() - n * interval '1 minute',
            CASE n WHEN 1 THEN 'skipped_limit' ELSE 'dispatched' END, CASE WHEN n > 1 THEN 'job_' || n END, 'for the test', now() - n * interval '1 minute'
     FROM generate_series(1, CAST(:count AS integer)) n`,
    { accountId, watchId, count },
  );
}

async function readPages(call: Client['call'], path: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor = '';
  for (;;) {
    const { body } = await call('GET', `${path}${cursor}`);
    ids.push(...body.items.map(({ id }) => id));
    if (body.nextCursor === null) return ids;
    cursor = `&cursor=${body.nextCursor}`;
  }
}

describe('reading', () => {
  it('pages through watches, newest first, and by status', async () => {
    const { call, create } = await newcomer();
    const made: string[] = [];
    for (let index = 0; index < 7; index += 1) made.unshift((await create()).id);
    for (const id of made.slice(0, 3)) await call('PATCH', `/v1/watches/${id}`, { status: 'paused' });
    expect(await readPages(call, '/v1/watches?limit=3')).toEqual(made);
    expect(await readPages(call, '/v1/watches?limit=2&status=paused')).toEqual(made.slice(0, 3));
    expect(await readPages(call, '/v1/watches?limit=4&status=active')).toEqual(made.slice(3));
    expect((await call('GET', '/v1/watches?status=canceled')).body).toEqual({ items: [], nextCursor: null });
  });

  it('shows ten runs beside the watch and pages through all of them, newest first', async () => {
    const { call, create, accountId } = await newcomer();
    const { id } = await create();
    await addRuns(accountId, id, 25);
    const { runs } = (await call('GET', `/v1/watches/${id}`)).body;
    expect(runs).toHaveLength(10);
    expect(runs.slice(0, 2)).toMatchObject([
      { watchId: id, status: 'skipped_limit', jobId: null, detail: 'for the test' },
      { watchId: id, status: 'dispatched', jobId: 'job_2' },
    ]);
    const all = await readPages(call, `/v1/watches/${id}/runs?limit=10`);
    expect(all).toHaveLength(25);
    expect(all.slice(0, 10)).toEqual(runs.map((run) => run.id));
    expect([...all].sort()).toEqual(all);
  });

  it.each(['limit=0', 'limit=101', 'limit=x', 'status=done', 'cursor=x'])('refuses ?%s', async (parameter) => {
    const { call, create } = await newcomer();
    expect((await call('GET', `/v1/watches?${parameter}`)).body.code).toBe('VALIDATION_FAILED');
    if (parameter.startsWith('status')) return;
    const { id } = await create();
    expect((await call('GET', `/v1/watches/${id}/runs?${parameter}`)).body.code).toBe('VALIDATION_FAILED');
  });
});

describe("another tenant's watch, and one that is not there, are", () => {
  const cases: [string, string, object | undefined][] = [
    ['GET', '', undefined],
    ['GET', '/runs', undefined],
    ['PATCH', '', { status: 'paused' }],
    ['DELETE', '', undefined],
  ];
  it.each(cases)('WATCH_NOT_FOUND to %s /v1/watches/{id}%s', async (method, suffix, body) => {
    const { id } = await (await newcomer()).create();
    const stranger = await newcomer();
    for (const name of [id, 'watch_01j00000000000000000000000', 'watch_', 'x', '%00', `${id}%00`, 'job_1'])
      expect(await stranger.call(method, `/v1/watches/${name}${suffix}`, body)).toMatchObject({
        status: 404,
        body: { code: 'WATCH_NOT_FOUND' },
      });
  });
});

describe('keys', () => {
  it('need the scope of reading or of writing', async () => {
    const { accountId } = await newcomer();
    const keyOf = async (scope: Scope) => (await openKey(service.database.db, accountId, 'live', [scope])).key;
    const [reader, writer] = [await keyOf('watches:read'), await keyOf('watches:write')];
    const made = await callApi(service.api.url, writer, 'POST', '/v1/watches', BODY);
    expect(made.status).toBe(201);
    const path = `/v1/watches/${made.body.watch.id}`;
    const statuses = async (key: string) => [
      (await callApi(service.api.url, key, 'GET', path)).status,
      (await callApi(service.api.url, key, 'GET', `${path}/runs`)).status,
      (await callApi(service.api.url, key, 'GET', '/v1/watches')).status,
      (await callApi(service.api.url, key, 'PATCH', path, {})).status,
      (await callApi(service.api.url, key, 'DELETE', path)).status,
      (await callApi(service.api.url, key, 'POST', '/v1/watches', BODY)).status,
    ];
    expect(await statuses(reader)).toEqual([200, 200, 200, 403, 403, 403]);
    expect(await statuses(writer)).toEqual([403, 403, 403, 200, 200, 201]);
  });

  it.each(['GET', 'POST'])('are needed: %s without one is AUTH_INVALID', async (method) => {
    const answer = await callApi(service.api.url, null, method, '/v1/watches', method === 'GET' ? undefined : BODY);
    expect(answer).toMatchObject({ status: 401, body: { code: 'AUTH_INVALID' } });
  });

  it('that are internal act for the owner they name, by query before header, and say so', async () => {
    const internal = await newcomer({ plan: 'internal', mode: 'internal' });
    const [owner, other] = [await newcomer(), await newcomer()];
    const onBehalf = { 'x-service-on-behalf-of': other.accountId };
    const named = `?owner=${owner.accountId}`;
    const made = await internal.call('POST', `/v1/watches${named}`, BODY, onBehalf);
    expect([made.status, made.body.owner]).toEqual([201, owner.accountId]);
    expect(made.headers.get('x-service-owner')).toBe(owner.accountId);

    const { id } = made.body.watch;
    expect((await owner.call('GET', `/v1/watches/${id}`)).body.watch.id).toBe(id);
    const reads = [`/v1/watches${named}`, `/v1/watches/${id}${named}`, `/v1/watches/${id}/runs${named}`];
    for (const path of reads)
      expect((await internal.call('GET', path, undefined, onBehalf)).body.owner).toBe(owner.accountId);
    expect((await internal.call('GET', `/v1/watches/${id}`, undefined, onBehalf)).status).toBe(404);
    expect((await internal.call('GET', `/v1/watches/${id}`)).status).toBe(404);
    expect((await internal.call('PATCH', `/v1/watches/${id}${named}`, { name: 'x' })).body).toMatchObject({
      owner: owner.accountId,
      watch: { name: 'x' },
    });
    expect((await internal.call('DELETE', `/v1/watches/${id}${named}`)).body.owner).toBe(owner.accountId);
  });

  it('that are restricted name an owner in vain', async () => {
    const [mine, other] = [await newcomer(), await newcomer()];
    const made = await mine.call('POST', `/v1/watches?owner=${other.accountId}`, BODY);
    expect(made.status).toBe(201);
    expect(made.body.owner).toBeUndefined();
    expect(made.headers.get('x-service-owner')).toBeNull();
    expect((await other.call('GET', '/v1/watches')).body.items).toEqual([]);
  });

  it('that are internal find nothing of an unknown owner, and can make nothing for one', async () => {
    const internal = await newcomer({ plan: 'internal', mode: 'internal' });
    expect((await internal.call('GET', '/v1/watches?owner=nobody')).body).toMatchObject({ items: [], owner: 'nobody' });
    expect(await internal.call('POST', '/v1/watches?owner=nobody', BODY)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED' },
    });
  });
});

describe('a watch of a Kubernetes resource', () => {
  it('is read like any other, and a change is refused with the name of the resource', async () => {
    const { call, create } = await newcomer();
    const { id } = await create();
    await query(
      service.database.db.system,
      `UPDATE watches SET managed_by = 'watches.searchcapture.io/team-a/prices' WHERE id = :id`,
      { id },
    );
    expect((await call('GET', `/v1/watches/${id}`)).status).toBe(200);
    for (const [method, body] of [
      ['PATCH', { status: 'paused' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await call(method, `/v1/watches/${id}`, body);
      expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
      expect(answer.body.error).toContain('watches.searchcapture.io/team-a/prices');
    }
  });
});
