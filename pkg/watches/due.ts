import type { Extraction, Region, Surface } from '../contract/index.ts';
import { query, type Reader, type Sql } from '../postgres/index.ts';

/** A watch whose tick has come, locked by the transaction that claimed it. */
export type DueWatch = {
  id: string;
  accountId: string;
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
  /** When the transaction that claimed it began, by the clock of the database. */
  claimedAt: Date;
};

// The same arithmetic as `spreadMs`. As floats: the longest interval in seconds is more than an integer holds.
const IS_DUE = `status = 'active' AND next_run_at <= now()
  AND next_run_at + least(CAST(:windowSeconds AS float8), interval_minutes * CAST(60 AS float8)) * jitter * interval '1 second' <= now()`;

export type DueAccount = { accountId: string; due: number };

/** Accounts that have due watches, and how many; the one that waits longest first. */
export async function findDueAccounts(
  sql: Sql,
  { windowSeconds, limit }: { windowSeconds: number; limit: number },
): Promise<DueAccount[]> {
  return query<DueAccount>(
    sql,
    `SELECT account_id AS "accountId", count(*) AS due FROM watches WHERE ${IS_DUE}
     GROUP BY account_id ORDER BY min(next_run_at), account_id LIMIT :limit`,
    { windowSeconds, limit },
  );
}

/** Accounts that are dispatched together: in each group as many as have no more than `most` due watches between them. */
export function groupAccounts(accounts: readonly DueAccount[], most: number): string[][] {
  const groups: string[][] = [];
  let room = 0;
  for (const { accountId, due } of accounts) {
    if (due > room) {
      groups.push([]);
      room = most;
    }
    groups.at(-1)?.push(accountId);
    room -= due;
  }
  return groups;
}

export type ClaimWanted = {
  accountIds: readonly string[];
  windowSeconds: number;
  /** Most of one account. */
  limit: number;
  /** Only this watch; any when null. */
  watchId: string | null;
};

/** Locks due watches of accounts until the transaction ends. What another dispatcher has locked is left to it. */
export async function claimDue(sql: Reader, { watchId, ...wanted }: ClaimWanted): Promise<DueWatch[]> {
  return query<DueWatch>(
    sql,
    // Account by account: that way the index which leads there fits however many watches others have.
    `SELECT due.* FROM unnest(CAST(:accountIds AS text[])) AS account (id), LATERAL (
       SELECT id, account_id AS "accountId", query, surfaces, regions, extract, webhook_url AS "webhookUrl", metered,
              interval_minutes AS "intervalMinutes", credit_skips AS "creditSkips", next_run_at AS "nextRunAt", jitter,
              now() AS "claimedAt"
       FROM watches WHERE account_id = account.id AND ${IS_DUE} ${watchId === null ? '' : 'AND id = :watchId'}
       ORDER BY next_run_at, id LIMIT :limit FOR UPDATE SKIP LOCKED) AS due`,
    { ...wanted, ...(watchId === null ? {} : { watchId }) },
  );
}

export type AccountStanding = { id: string; availableCredits: number; queued: number; plan: string };

/**
 * Locks accounts' rows and reads how they stand: what is decided on these figures still holds when the searches
 * reserve. After the watches' rows, as locks are taken in one order. One account alone is waited for; of several, those
 *
 * that something else holds are left out, so that they hold up no other.
 */
export async function lockAccounts(sql: Reader, accountIds: readonly string[]): Promise<Map<string, AccountStanding>> {
  const rows = await query<AccountStanding>(
    sql,
    `SELECT id, balance - held AS "availableCredits", queued, plan FROM accounts
     WHERE id = ANY(:accountIds) FOR NO KEY UPDATE ${accountIds.length > 1 ? 'SKIP LOCKED' : ''}`,
    { accountIds },
  );
  return new Map(rows.map((row) => [row.id, row]));
}
