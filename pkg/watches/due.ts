import type { Extraction, Region, Surface } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';

/** A watch whose tick has come, locked by the transaction that claimed it. */
export type DueWatch = {
  id: string;
  query: string;
  surfaces: Surface[];
  regions: Region[];
  extract: Extraction | null;
  webhookUrl: string | null;
  metered: boolean;
  intervalMinutes: number;
  creditSkips: number;
  nextRunAt: Date;
  jitter: number;
};

// The same arithmetic as `spreadMs`. As floats: the longest interval in seconds is more than an integer holds.
const IS_DUE = `status = 'active' AND next_run_at <= now()
  AND next_run_at + least(CAST(:windowSeconds AS float8), interval_minutes * CAST(60 AS float8)) * jitter * interval '1 second' <= now()`;

/** Accounts that have a due watch, the one that waits longest first. */
export async function findDueAccounts(
  sql: Sql,
  { windowSeconds, limit }: { windowSeconds: number; limit: number },
): Promise<string[]> {
  const rows = await query<{ accountId: string }>(
    sql,
    `SELECT account_id AS "accountId" FROM watches WHERE ${IS_DUE}
     GROUP BY account_id ORDER BY min(next_run_at), account_id LIMIT :limit`,
    { windowSeconds, limit },
  );
  return rows.map(({ accountId }) => accountId);
}

export type ClaimWanted = {
  accountId: string;
  windowSeconds: number;
  limit: number;
  /** Only this watch; any when null. */
  watchId: string | null;
};

/** Locks due watches of an account until the transaction ends. What another dispatcher has locked is left to it. */
export async function claimDue(sql: Sql, { watchId, ...wanted }: ClaimWanted): Promise<DueWatch[]> {
  return query<DueWatch>(
    sql,
    `SELECT id, query, surfaces, regions, extract, webhook_url AS "webhookUrl", metered,
            interval_minutes AS "intervalMinutes", credit_skips AS "creditSkips", next_run_at AS "nextRunAt", jitter
     FROM watches WHERE account_id = :accountId AND ${IS_DUE} ${watchId === null ? '' : 'AND id = :watchId'}
     ORDER BY next_run_at, id LIMIT :limit FOR UPDATE SKIP LOCKED`,
    { ...wanted, ...(watchId === null ? {} : { watchId }) },
  );
}

export type AccountStanding = { availableCredits: number; queued: number; plan: string; now: Date };

/**
 * Locks the account's row and reads how it stands: what is decided on these figures still holds when the searches
 * reserve. After the watches' rows, as locks are taken in one order. Times are the database's own.
 */
export async function lockAccount(sql: Sql, accountId: string): Promise<AccountStanding> {
  const [row] = await query<AccountStanding>(
    sql,
    `SELECT balance - held AS "availableCredits", queued, plan, now() AS now FROM accounts
     WHERE id = :accountId FOR NO KEY UPDATE`,
    { accountId },
  );
  if (row === undefined) throw new Error(`the account ${accountId} of a watch is gone`);
  return row;
}
