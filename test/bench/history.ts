import { query, type Sql } from '../../pkg/postgres/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { startService } from '../support/service.ts';
import { percentile, type Row } from './table.ts';

const CAPTURES = 1_000_000;
const FEW = 1_000;
const ROUNDS = 200;
const WARM_UP = 20;
const PATHS = [
  '/v1/jobs?limit=50',
  '/v1/jobs?limit=50&surface=engine_news',
  '/v1/jobs?limit=50&state=completed',
  '/v1/usage',
];

/**
 * The list and usage routes of an account with a million captures, against those of one with a thousand over as many
 * days: what a page costs must not grow with what the account has behind it.
 */
export async function benchHistory(): Promise<Row[]> {
  const service = await startService({ plan: 'internal' });
  try {
    await service.lane.stop();
    const sql = service.database.db.system;
    const open = async (captures: number): Promise<string> => {
      const accountId = await openAccount(service.database.db, { credits: 0, plan: 'internal' });
      await fill(sql, accountId, captures);
      return (await openKey(service.database.db, accountId)).key;
    };
    const few = await open(FEW);
    const many = await open(CAPTURES);
    const rows: Row[] = [];
    for (const path of PATHS) {
      const [manyMs, fewMs] = await medians(service.api.url, path, [many, few]);
      rows.push({
        name: `GET ${path}, account of a million captures / of a thousand`,
        ours: manyMs ?? Number.NaN,
        bare: fewMs ?? Number.NaN,
        unit: 'ms',
        atMost: 2,
      });
    }
    return rows;
  } finally {
    await service.close();
  }
}

/** Ended searches of one capture each, uncharged, over the last 90 days. */
async function fill(sql: Sql, accountId: string, captures: number): Promise<void> {
  // 100,000 a statement stays below the statement timeout.
  const step = 100_000;
  for (let from = 1; from <= captures; from += step) {
    const bindings = { accountId, captures, from, to: Math.min(captures, from + step - 1) };
    await sql.transaction(async (trx) => {
      // No foreign keys to check: the rows name each other by construction.
      await query(trx, `SET LOCAL session_replication_role = replica`);
      await query(
        trx,
        `INSERT INTO searches (id, account_id, query, method, surfaces, child_count, failed_count, completed_count, credits_to_charge, created_at)
         SELECT 'job_01' || right(:accountId, 16) || lpad(CAST(n AS text), 8, '0'), CAST(:accountId AS text), 'which bicycle is best', 'async', '{engine_news}', 1, n % 2, 1 - n % 2, 0,
           now() - n * (interval '80 days' / CAST(:captures AS integer))
         FROM generate_series(CAST(:from AS integer), CAST(:to AS integer)) n`,
        bindings,
      );
      await query(
        trx,
        `INSERT INTO captures (id, search_id, account_id, position, surface, region_key, state, synchronous, expires_at, price,
           credits_held, created_at, ended_at)
         SELECT 'job_01' || right(:accountId, 16) || lpad(CAST(n AS text), 8, '0') || '.engine_news.us', 'job_01' || right(:accountId, 16) || lpad(CAST(n AS text), 8, '0'), CAST(:accountId AS text), 0, 'engine_news', 'us',
           CASE n % 2 WHEN 1 THEN 'failed' ELSE 'completed' END, false, now(), 0, 0, now() - n * (interval '80 days' / CAST(:captures AS integer)), now()
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

/** Median time of a GET with each of the keys, taken in turns after a warm-up. */
async function medians(url: string, path: string, keys: readonly string[]): Promise<number[]> {
  const times: number[][] = keys.map(() => []);
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    for (const [index, key] of keys.entries()) {
      const startMs = performance.now();
      await get(url, path, key);
      if (round >= 0) times[index]?.push(performance.now() - startMs);
    }
  }
  return times.map((of) => percentile(of, 50));
}

async function get(url: string, path: string, key: string): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 200)}`);
}
