import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { loadPlans } from '../../pkg/accounts/index.ts';
import { createKeyring } from '../../pkg/config/index.ts';
import { MAX_INTERVAL_MINUTES, SURFACES, type Surface, type WatchRun } from '../../pkg/contract/index.ts';
import { grant } from '../../pkg/credits/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import { dispatchDue, readWatch, type DispatchDeps } from '../../pkg/watches/index.ts';
import { createSecret } from '../../pkg/webhooks/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/poll.ts';
import { insertDueWatches, type WatchRows } from '../support/watches.ts';

const HOUR_MS = 3_600_000;
const LANE = { live: true, unavailableReason: null, queueSeconds: 900 };

let test: TestDatabase;
let deps: DispatchDeps;

beforeAll(async () => {
  test = await openTestDatabase();
  const log = createLog('test', 'silent');
  const live = SURFACES.filter((surface) => surface !== 'assistant_four');
  deps = {
    db: test.db,
    clock: systemClock,
    log,
    plans: await loadPlans('config/plans'),
    priceOf: () => 5,
    lanes: () => Promise.resolve(new Map<Surface, typeof LANE>(live.map((surface) => [surface, LANE]))),
    keyring: createKeyring(`k1:${Buffer.alloc(32, 7).toString('base64')}`),
    spreadSeconds: 0,
  };
});
afterAll(async () => {
  await test.close();
});
afterEach(async () => {
  expect(await findBrokenInvariants(test.db.system)).toEqual([]);
});

const insertDue = (rows: WatchRows) => insertDueWatches(test.db.system, rows);
const insertOne = async (rows: WatchRows): Promise<string> => (await insertDue(rows))[0] ?? '';
const read = (accountId: string, id: string) => readWatch(test.db, accountId, id);

async function dispatchAll(changes: Partial<DispatchDeps> = {}): Promise<number> {
  let all = 0;
  for (;;) {
    const some = await dispatchDue({ ...deps, ...changes });
    if (some === 0) return all;
    all += some;
  }
}

async function statusesOf(accountId: string): Promise<WatchRun['status'][]> {
  const rows = await query<{ status: WatchRun['status'] }>(
    test.db.system,
    'SELECT status FROM watch_runs WHERE account_id = :accountId ORDER BY scheduled_for, watch_id',
    { accountId },
  );
  return rows.map(({ status }) => status);
}

/** As if so much time had passed for this watch and its runs. */
async function pass(watchId: string, hours: number): Promise<void> {
  await query(
    test.db.system,
    `WITH moved AS (
       UPDATE watch_runs SET scheduled_for = scheduled_for - make_interval(hours => :hours),
         created_at = created_at - make_interval(hours => :hours) WHERE watch_id = :watchId
     )
     UPDATE watches SET next_run_at = next_run_at - make_interval(hours => :hours) WHERE id = :watchId`,
    { watchId, hours },
  );
}

describe('a watch whose tick has come', () => {
  it('submits its search, and shows the run', async () => {
    const accountId = await openAccount(test.db);
    const id = await insertOne({ accountId, surfaces: ['engine_news', 'assistant_one'] });
    const before = (await read(accountId, id)).watch;
    expect(await dispatchAll()).toBe(1);

    const { watch, runs } = await read(accountId, id);
    const [run] = runs;
    expect(runs).toEqual([
      {
        id: expect.stringMatching(/^wrun_[0-9a-z]{26}$/),
        watchId: id,
        jobId: expect.stringMatching(/^job_[0-9a-z]{26}$/),
        scheduledFor: before.nextRunAt,
        status: 'dispatched',
        detail: 'Started 2 captures for 10 credits.',
        createdAt: expect.any(String),
      },
    ]);
    expect(watch).toEqual({
      ...before,
      nextRunAt: new Date(Date.parse(before.nextRunAt) + HOUR_MS).toISOString(),
      lastRunAt: run?.createdAt,
      lastJobId: run?.jobId,
    });
    const children = await query(
      test.db.system,
      `SELECT c.surface, c.state, c.credits_held, s.method, s.query, s.child_count FROM captures c JOIN searches s ON s.id = c.search_id
       WHERE s.id = :jobId ORDER BY c.position`,
      { jobId: run?.jobId ?? '' },
    );
    const search = {
      method: 'watch',
      query: 'which bicycle is best',
      child_count: 2,
      state: 'queued',
      credits_held: 5,
    };
    expect(children).toEqual([
      { ...search, surface: 'engine_news' },
      { ...search, surface: 'assistant_one' },
    ]);
  });

  it('hands regions, extraction and webhook on to the search', async () => {
    const accountId = await openAccount(test.db);
    await createSecret(test.db.system, { accountId, keyring: deps.keyring, clock: systemClock, randomBytes });
    const id = await insertOne({ accountId, webhookUrl: 'https://receiver.example/' });
    await query(
      test.db.system,
      `UPDATE watches SET extract = '{"targets": ["Acme"]}', regions = '[{"country": "DE"}, {"country": "US", "city": "Austin"}]' WHERE id = :id`,
      { id },
    );
    await dispatchAll();
    const rows = await query(
      test.db.system,
      `SELECT s.extract, s.webhook_url, s.webhook_secret_ciphertext, c.region, c.region_key FROM watch_runs r
       JOIN searches s ON s.id = r.job_id JOIN captures c ON c.search_id = s.id WHERE r.watch_id = :id ORDER BY c.position`,
      { id },
    );
    const common = {
      extract: { targets: ['Acme'] },
      webhook_url: 'https://receiver.example/',
      webhook_secret_ciphertext: null,
    };
    expect(rows).toEqual([
      { ...common, region: { country: 'DE' }, region_key: 'de' },
      { ...common, region: { country: 'US', city: 'Austin' }, region_key: 'us:austin' },
    ]);
  });

  it('runs once for all the ticks that were missed, says so, and stays on its grid', async () => {
    const accountId = await openAccount(test.db);
    const id = await insertOne({ accountId, dueSecondsAgo: 3.5 * 3600 });
    const { nextRunAt } = (await read(accountId, id)).watch;
    expect(await dispatchAll()).toBe(1);
    const { watch, runs } = await read(accountId, id);
    expect(runs).toMatchObject([
      {
        scheduledFor: nextRunAt,
        detail: 'Started 1 capture for 5 credits. It was late: it also stands for 3 ticks missed after it.',
      },
    ]);
    expect(Date.parse(watch.nextRunAt)).toBe(Date.parse(nextRunAt) + 4 * HOUR_MS);
  });

  it('may have the longest interval there is', async () => {
    const accountId = await openAccount(test.db);
    const id = await insertOne({ accountId, intervalMinutes: MAX_INTERVAL_MINUTES });
    expect(await dispatchAll({ spreadSeconds: 1 })).toBeLessThanOrEqual(1);
    await dispatchAll();
    expect((await read(accountId, id)).watch).toMatchObject({ schedule: { intervalMinutes: MAX_INTERVAL_MINUTES } });
    expect(await statusesOf(accountId)).toEqual(['dispatched']);
  });

  it.each([
    ['paused', `status = 'paused', paused_reason = 'user'`],
    ['canceled', `status = 'canceled'`],
    ['not due yet', `next_run_at = now() + interval '10 minutes'`],
  ])('does not run when it is %s', async (_, change) => {
    const accountId = await openAccount(test.db);
    const id = await insertOne({ accountId });
    await query(test.db.system, `UPDATE watches SET ${change} WHERE id = :id`, { id });
    expect(await dispatchAll()).toBe(0);
    expect(await statusesOf(accountId)).toEqual([]);
  });

  it('of an internal key runs for nothing', async () => {
    const accountId = await openAccount(test.db, { credits: 0 });
    await insertDue({ accountId, metered: false });
    await insertDue({ accountId });
    expect(await dispatchAll()).toBe(2);
    expect(await statusesOf(accountId)).toEqual(['dispatched', 'skipped_credits']);
  });
});

describe('without credits', () => {
  it('a run is skipped and makes no job; the third in a row pauses the watch', async () => {
    const accountId = await openAccount(test.db, { credits: 4 });
    const id = await insertOne({ accountId });
    for (const _ of [1, 2]) {
      await dispatchAll();
      expect((await read(accountId, id)).watch).toMatchObject({ status: 'active', lastRunAt: null, lastJobId: null });
      await pass(id, 1);
    }
    await dispatchAll();
    const { watch, runs } = await read(accountId, id);
    expect(watch).toMatchObject({ status: 'paused', pausedReason: 'insufficient_credits' });
    expect(runs.map(({ status, jobId }) => [status, jobId])).toEqual(Array(3).fill(['skipped_credits', null]));
    expect(runs[1]?.detail).toBe('This run needs 5 credits; 4 were available.');
    expect(runs[0]?.detail).toContain('the watch is paused');
    await pass(id, 5);
    expect(await dispatchAll()).toBe(0);
  });

  it('a run that starts ends the row', async () => {
    const accountId = await openAccount(test.db, { credits: 0 });
    const id = await insertOne({ accountId });
    const tick = async () => {
      await dispatchAll();
      await pass(id, 1);
    };
    await tick();
    await tick();
    await test.db.inTransaction((sql) => grant(sql, accountId, 5));
    await tick();
    await tick();
    await tick();
    expect((await read(accountId, id)).watch.status).toBe('active');
    await tick();
    expect((await read(accountId, id)).watch.status).toBe('paused');
  });

  it('each watch of a batch gets its own verdict', async () => {
    const accountId = await openAccount(test.db, { credits: 12 });
    await insertDue({ accountId, dueSecondsAgo: 3 });
    await insertDue({ accountId, dueSecondsAgo: 2, surfaces: ['engine_news', 'engine_search'] });
    await insertDue({ accountId, dueSecondsAgo: 1 });
    await dispatchAll();
    expect(await statusesOf(accountId)).toEqual(['dispatched', 'skipped_credits', 'dispatched']);
  });
});

it('a run that the queue has no room for is skipped, and does not count towards the pause', async () => {
  const accountId = await openAccount(test.db, { credits: 100_000, plan: 'free' });
  await insertDue({ accountId, count: 1_002 });
  expect(await dispatchAll()).toBe(1_002);
  const rows = await query(
    test.db.system,
    `SELECT r.status, count(*) AS runs, max(w.credit_skips) AS skips, min(r.detail) AS detail
     FROM watch_runs r JOIN watches w ON w.id = r.watch_id WHERE r.account_id = :accountId GROUP BY r.status ORDER BY 1`,
    { accountId },
  );
  expect(rows).toEqual([
    { status: 'dispatched', runs: 1_000, skips: 0, detail: 'Started 1 capture for 5 credits.' },
    { status: 'skipped_limit', runs: 2, skips: 0, detail: expect.stringContaining('ceiling of 1000') },
  ]);
});

describe('a run that can not be submitted', () => {
  it('for a surface that is not live is failed with the reason', async () => {
    const accountId = await openAccount(test.db);
    const id = await insertOne({ accountId, surfaces: ['engine_news', 'assistant_four'] });
    await dispatchAll();
    expect((await read(accountId, id)).runs).toMatchObject([
      { status: 'failed', jobId: null, detail: 'assistant_four had no live capture path.' },
    ]);
  });

  it('because no secret could sign its webhooks is failed, and holds nothing', async () => {
    const accountId = await openAccount(test.db);
    const id = await insertOne({ accountId, webhookUrl: 'https://receiver.example/' });
    await dispatchAll();
    expect((await read(accountId, id)).runs).toMatchObject([{ status: 'failed', jobId: null }]);
    const [row] = await query(test.db.system, 'SELECT held, queued FROM accounts WHERE id = :accountId', { accountId });
    expect(row).toEqual({ held: 0, queued: 0 });
  });

  it('because of its own row is failed, and keeps no other watch from running', async () => {
    const accountId = await openAccount(test.db);
    const [first = '', broken = '', last = ''] = await insertDue({ accountId, count: 3 });
    await query(test.db.system, `UPDATE watches SET regions = '[{"country": null}]' WHERE id = :broken`, { broken });
    expect(await dispatchAll()).toBe(3);
    const statuses = await Promise.all([first, broken, last].map((id) => read(accountId, id)));
    expect(statuses.map(({ runs }) => runs.map(({ status }) => status))).toEqual([
      ['dispatched'],
      ['failed'],
      ['dispatched'],
    ]);
  });

  it('because its tick has run already moves on without a second run', async () => {
    const accountId = await openAccount(test.db);
    const [first = '', repeated = ''] = await insertDue({ accountId, count: 2 });
    await query(
      test.db.system,
      `INSERT INTO watch_runs (id, account_id, watch_id, scheduled_for, status, detail)
       SELECT 'wrun_earlier', account_id, id, next_run_at, 'failed', 'before' FROM watches WHERE id = :repeated`,
      { repeated },
    );
    await dispatchAll();
    expect((await read(accountId, repeated)).runs.map(({ detail }) => detail)).toEqual(['before']);
    expect(Date.parse((await read(accountId, repeated)).watch.nextRunAt)).toBeGreaterThan(Date.now());
    expect((await read(accountId, first)).runs).toMatchObject([{ status: 'dispatched' }]);
  });
});

it('spreads watches with one tick over the window without moving their ticks', async () => {
  const accountId = await openAccount(test.db, { credits: 100_000, plan: 'internal' });
  const ids = await insertDue({ accountId, count: 400, dueSecondsAgo: 60 });
  await dispatchAll({ spreadSeconds: 600 });
  const rows = await query<{ id: string; jitter: number; onTick: boolean }>(
    test.db.system,
    `SELECT w.id, w.jitter, r.scheduled_for = w.next_run_at - interval '1 hour' AS "onTick"
     FROM watches w JOIN watch_runs r ON r.watch_id = w.id WHERE w.account_id = :accountId`,
    { accountId },
  );
  // A tenth of the window has passed, so about a tenth of the watches have run: those with the smallest shares.
  expect(rows.length).toBeGreaterThan(15);
  expect(rows.length).toBeLessThan(80);
  expect(rows.every(({ jitter, onTick }) => jitter < 0.101 && onTick)).toBe(true);
  expect(await dispatchAll({ spreadSeconds: 30 })).toBe(ids.length - rows.length);
});

it('dispatches each tick once however many dispatchers look at the same time', async () => {
  const accounts = await Promise.all(
    Array.from({ length: 3 }, () => openAccount(test.db, { credits: 10_000, plan: 'internal' })),
  );
  for (const accountId of accounts) await insertDue({ accountId, count: 600 });
  const counts = await Promise.all(Array.from({ length: 4 }, () => dispatchAll()));
  expect(counts.reduce((sum, some) => sum + some, 0)).toBe(1_800);
  for (const accountId of accounts) expect(await statusesOf(accountId)).toEqual(Array(600).fill('dispatched'));
});

it('serves an account with one watch before the rest of a long backlog', async () => {
  const busy = await openAccount(test.db, { credits: 10_000, plan: 'internal' });
  const small = await openAccount(test.db);
  await insertDue({ accountId: busy, count: 1_200, dueSecondsAgo: 60 });
  await insertDue({ accountId: small });
  await dispatchDue(deps);
  expect(await statusesOf(small)).toEqual(['dispatched']);
  expect((await statusesOf(busy)).length).toBe(500);
  await dispatchAll();
});

describe('accounts with few watches each', () => {
  const openAccounts = (count: number) => Promise.all(Array.from({ length: count }, () => openAccount(test.db)));

  it('share a turn, each with its own credits and its own search', async () => {
    const poor = await openAccount(test.db, { credits: 4 });
    const accounts = [poor, ...(await openAccounts(29))];
    for (const accountId of accounts) await insertDue({ accountId, count: 2 });
    expect(await dispatchDue(deps)).toBe(60);
    expect(await statusesOf(poor)).toEqual(['skipped_credits', 'skipped_credits']);
    for (const accountId of accounts.slice(1))
      expect(await statusesOf(accountId)).toEqual(['dispatched', 'dispatched']);
    const strangers = await query(
      test.db.system,
      `SELECT r.id FROM watch_runs r JOIN watches w ON w.id = r.watch_id LEFT JOIN searches s ON s.id = r.job_id
       WHERE r.account_id <> w.account_id OR s.account_id <> w.account_id`,
    );
    expect(strangers).toEqual([]);
  });

  it('are not kept from running by a watch of another that can not be submitted', async () => {
    const accounts = await openAccounts(5);
    const ids = await Promise.all(accounts.map((accountId) => insertDue({ accountId, count: 2 })));
    const [broken = ''] = ids[2] ?? [];
    await query(test.db.system, `UPDATE watches SET regions = '5' WHERE id = :broken`, { broken });
    expect(await dispatchDue(deps)).toBe(10);
    const statuses = await Promise.all(accounts.map(statusesOf));
    expect(statuses.map((some) => some.toSorted())).toEqual(
      accounts.map((_, at) => ['dispatched', at === 2 ? 'failed' : 'dispatched']),
    );
  });

  it('do not wait for one that something else holds, which runs as soon as it is free', async () => {
    const accounts = await openAccounts(5);
    const [held = '', ...others] = accounts;
    for (const accountId of accounts) await insertDue({ accountId });
    const holder = await test.db.system.transaction();
    await query(holder, 'SELECT id FROM accounts WHERE id = :held FOR NO KEY UPDATE', { held });
    const turn = dispatchDue(deps);
    try {
      const done = async () => (await Promise.all(others.map(statusesOf))).every(({ length }) => length === 1);
      await until(done, { timeoutMs: 9_000, what: 'the others have run' });
      expect(await statusesOf(held)).toEqual([]);
    } finally {
      await holder.rollback();
    }
    expect(await turn).toBe(5);
    expect(await statusesOf(held)).toEqual(['dispatched']);
  });

  it('are dispatched once however many dispatchers look at the same time', async () => {
    const accounts = await openAccounts(120);
    for (const accountId of accounts) await insertDue({ accountId, count: 10 });
    const counts = await Promise.all(Array.from({ length: 4 }, () => dispatchAll()));
    expect(counts.reduce((sum, some) => sum + some, 0)).toBe(1_200);
    for (const accountId of accounts) expect(await statusesOf(accountId)).toEqual(Array(10).fill('dispatched'));
  });
});
