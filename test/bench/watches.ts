import { query, type Sql } from '../../pkg/postgres/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { until } from '../support/poll.ts';
import { startService, type TestService } from '../support/service.ts';
import { insertDueWatches } from '../support/watches.ts';
import { percentile, type Row } from './table.ts';

const WATCHES = 12_000;
/** Few accounts with long backlogs, and many with short ones: a transaction holds one account. */
const ACCOUNTS = [6, 600];
const BATCH_ACCOUNTS = 6;
const BATCH_ITEMS = 500;
const BATCH_CLIENTS = 2;
const ITEM = { query: 'which bicycle is best', surfaces: ['engine_news'] };
/** Each is measured so often and the best counts: what else a machine does now and then should not decide. */
const ROUNDS = 2;
/** Watches of the light load, one tick every so often. */
const LIGHT = { count: 200, everySeconds: 0.1 };

/**
 * Due watches dispatched per second by one dispatcher, against as many items accepted by one API process in batches of
 * 500; and how late a watch is dispatched when there is little to do.
 */
export async function benchWatches(): Promise<Row[]> {
  // A capture is announced twice in both measurements, and never again within them.
  const service = await startService({ plan: 'internal', env: { ANNOUNCE_AGAIN_SECONDS: '3600' } });
  try {
    await service.lane.stop();
    const sql = service.database.db.system;
    const lateness = await measureLateness(service);
    const dispatched = new Map(ACCOUNTS.map((count) => [count, 0]));
    let batch = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [count, best] of dispatched) {
        const perSecond = await measureWatches(sql, await openAccounts(service, count));
        dispatched.set(count, Math.max(best, perSecond));
        await waitUntilAnnounced(sql);
      }
      batch = Math.max(batch, await measureBatches(service, await openAccounts(service, BATCH_ACCOUNTS)));
      await waitUntilAnnounced(sql);
    }
    return [
      ...[...dispatched].map(([count, perSecond]) => ({
        name: `due watches of ${count} accounts dispatched per second / items accepted per second in batches`,
        ours: perSecond,
        bare: batch,
        unit: '/s',
        atLeast: 0.7,
      })),
      {
        name: 'p99 lateness of a run under light load / 2 s',
        ours: percentile(lateness, 99),
        bare: 2_000,
        unit: 'ms',
        atMost: 1,
      },
    ];
  } finally {
    await service.close();
  }
}

function openAccounts({ database }: TestService, count: number): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, () => openAccount(database.db, { credits: 10_000_000, plan: 'internal' })),
  );
}

/** From the tick that all of them share until the last run is there. */
async function measureWatches(sql: Sql, accounts: readonly string[]): Promise<number> {
  for (const accountId of accounts)
    await insertDueWatches(sql, { accountId, count: WATCHES / accounts.length, dueSecondsAgo: -3_600 });
  await query(sql, `UPDATE watches SET next_run_at = now() + interval '3 seconds' WHERE account_id = ANY(:accounts)`, {
    accounts,
  });
  const countRuns = async (): Promise<number> =>
    (
      await query<{ runs: number }>(sql, 'SELECT count(*) AS runs FROM watch_runs WHERE account_id = ANY(:accounts)', {
        accounts,
      })
    )[0]?.runs ?? 0;
  await until(async () => (await countRuns()) > 0, { timeoutMs: 60_000, what: 'the first run', everyMs: 10 });
  const startMs = performance.now();
  const already = await countRuns();
  await until(async () => (await countRuns()) === WATCHES, { timeoutMs: 120_000, what: 'the last run', everyMs: 20 });
  return (WATCHES - already) / ((performance.now() - startMs) / 1000);
}

async function waitUntilAnnounced(sql: Sql): Promise<void> {
  const soon = `SELECT id FROM captures WHERE state = 'queued' AND announce_at < now() + interval '1 minute' LIMIT 1`;
  await until(async () => (await query(sql, soon)).length === 0, { timeoutMs: 120_000, what: 'all is announced' });
}

async function measureBatches(service: TestService, accounts: readonly string[]): Promise<number> {
  const keys = await Promise.all(accounts.map((id) => openKey(service.database.db, id, 'internal')));
  const body = JSON.stringify({ items: Array(BATCH_ITEMS).fill(ITEM) });
  let left = WATCHES / BATCH_ITEMS;
  const startMs = performance.now();
  const client = async (index: number): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const key = keys[(left + index) % keys.length]?.key ?? '';
      const response = await fetch(`${service.api.url}/v1/search/batch`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
        signal: AbortSignal.timeout(30_000),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`a batch was answered ${response.status}: ${text.slice(0, 200)}`);
    }
  };
  await Promise.all(Array.from({ length: BATCH_CLIENTS }, (_, index) => client(index)));
  return WATCHES / ((performance.now() - startMs) / 1000);
}

async function measureLateness(service: TestService): Promise<number[]> {
  const sql = service.database.db.system;
  const accountId = await openAccount(service.database.db, { credits: 100_000, plan: 'internal' });
  for (let index = 0; index < LIGHT.count; index += 1)
    await insertDueWatches(sql, { accountId, dueSecondsAgo: -2 - index * LIGHT.everySeconds });
  const readLateness = () =>
    query<{ lateMs: number }>(
      sql,
      `SELECT CAST(extract(epoch FROM created_at - scheduled_for) * 1000 AS double precision) AS "lateMs"
       FROM watch_runs WHERE account_id = :accountId`,
      { accountId },
    );
  const rows = await until(
    async () => {
      const found = await readLateness();
      return found.length === LIGHT.count && found;
    },
    { timeoutMs: 120_000, what: 'every watch has run', everyMs: 200 },
  );
  return rows.map(({ lateMs }) => lateMs);
}
