import { query, type Sql } from '../../pkg/postgres/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { startService } from '../support/service.ts';
import { percentile, type Row } from './table.ts';

const CAPTURES = 1_000_000;
const ROUNDS = 200;
const PATHS = [
  '/v1/jobs?limit=50',
  '/v1/jobs?limit=50&surface=engine_news',
  '/v1/jobs?limit=50&state=completed',
  '/v1/usage',
];

/**
 * The list and usage routes of an account with a million captures, against those of one with a hundred in the same database
 * before the million came: what a page costs must not grow with what the account has behind it.
 */
export async function benchHistory(): Promise<Row[]> {
  const service = await startService({ plan: 'internal' });
  try {
    await service.lane.stop();
    const sql = service.database.db.system;
    const readAll = async (captures: number): Promise<number[]> => {
      const accountId = await openAccount(service.database.db, { credits: 0, plan: 'internal' });
      const { key } = await openKey(service.database.db, accountId);
      await fill(sql, accountId, captures);
      const times: number[] = [];
      for (const path of PATHS) times.push(await medianMs(service.api.url, path, key));
      return times;
    };
    const few = await readAll(100);
    const many = await readAll(CAPTURES);
    return PATHS.map((path, index) => ({
      name: `GET ${path}, account of a million captures / of a hundred`,
      ours: many[index] ?? Number.NaN,
      bare: few[index] ?? Number.NaN,
      unit: 'ms',
      atMost: 2,
    }));
  } finally {
    await service.close();
  }
}

/** Ended searches of one capture each, uncharged, over the last 90 days. */
async function fill(sql: Sql, accountId: string, captures: number): Promise<void> {
  // 100,000 a statement stays below the statement timeout.
  const step = 100_000;
  for (let from = 1; from <= captures; from += step) {
    const bindings = { accountId, from, to: Math.min(captures, from + step - 1) };
    await sql.transaction(async (trx) => {
      // No foreign keys to check: the rows name each other by construction.
      await query(trx, `SET LOCAL session_replication_role = replica`);
      await query(
        trx,
        `INSERT INTO searches (id, account_id, query, method, surfaces, child_count, failed_count, completed_count, credits_to_charge, created_at)
         SELECT 'job_01' || right(:accountId, 16) || lpad(CAST(n AS text), 8, '0'), CAST(:accountId AS text), 'which bicycle is best', 'async', '{engine_news}', 1, n % 2, 1 - n % 2, 0,
           now() - n * interval '7 seconds'
         FROM generate_series(CAST(:from AS integer), CAST(:to AS integer)) n`,
        bindings,
      );
      await query(
        trx,
        `INSERT INTO captures (id, search_id, account_id, position, surface, region_key, state, synchronous, expires_at, price,
           credits_held, created_at, ended_at)
         SELECT 'job_01' || right(:accountId, 16) || lpad(CAST(n AS text), 8, '0') || '.engine_news.us', 'job_01' || right(:accountId, 16) || lpad(CAST(n AS text), 8, '0'), CAST(:accountId AS text), 0, 'engine_news', 'us',
           CASE n % 2 WHEN 1 THEN 'failed' ELSE 'completed' END, false, now(), 0, 0, now() - n * interval '7 seconds', now()
         FROM generate_series(CAST(:from AS integer), CAST(:to AS integer)) n`,
        bindings,
      );
    });
  }
  await query(
    sql,
    `INSERT INTO usage_daily (account_id, day, surface, region_key, method, call_count, credits_charged)
     SELECT account_id, CAST(created_at AS date), surface, region_key, 'async', count(*), 0
     FROM captures WHERE account_id = :accountId GROUP BY 1, 2, 3, 4`,
    { accountId },
  );
  await query(sql, 'ANALYZE searches');
  await query(sql, 'ANALYZE captures');
  await query(sql, 'ANALYZE usage_daily');
}

async function medianMs(url: string, path: string, key: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startMs = performance.now();
    const response = await fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 200)}`);
    times.push(performance.now() - startMs);
  }
  return percentile(times, 50);
}
