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

export type DueAccount = { accountId: string; /** That the runs of its due watches fan out into. */ captures: number };

/** Accounts that have due watches; the one that waits longest first. */
export async function findDueAccounts(
  sql: Sql,
  { windowSeconds, limit }: { windowSeconds: number; limit: number },
): Promise<DueAccount[]> {
  return query<DueAccount>(
    sql,
    // One row that is not as it should be must not keep all the others from being found.
    `SELECT account_id AS "accountId",
            sum(cardinality(surfaces) * CASE jsonb_typeof(regions) WHEN 'array' THEN greatest(1, jsonb_array_length(regions))
                                        ELSE 1 END) AS captures
     FROM watches WHERE ${IS_DUE}
     GROUP BY account_id ORDER BY min(next_run_at), account_id LIMIT :limit`,
    { windowSeconds, limit },
  );
}

/** Accounts that are dispatched together: in each group as many as start no more than `most` captures between them. */
export function groupAccounts(accounts: readonly DueAccount[], most: number): string[][] {
  const groups: string[][] = [];
  let room = 0;
  for (const { accountId, captures } of accounts) {
    if (captures > room) {
      groups.push([]);
      room = most;
    }
    groups.at(-1)?.push(accountId);
    room -= captures;
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

/** What to do about accounts whose row another transaction holds. */
export type HeldAccounts = 'wait' | 'leave';

export type AccountStanding = { id: string; availableCredits: number; queued: number; plan: string };

/**
 * Locks accounts' rows and reads how they stand: what is decided on these figures still holds when the searches
 * reserve. After the watches' rows, as locks are taken in one order. Those that something else holds are waited for, or
 * left out.
 */
export async function lockAccounts(
  sql: Reader,
  accountIds: readonly string[],
  held: HeldAccounts,
): Promise<Map<string, AccountStanding>> {
  const rows = await query<AccountStanding>(
    sql,
    `SELECT id, balance - held AS "availableCredits", queued, plan FROM accounts
     WHERE id = ANY(:accountIds) FOR NO KEY UPDATE ${held === 'leave' ? 'SKIP LOCKED' : ''}`,
    { accountIds },
  );
  return new Map(rows.map((row) => [row.id, row]));
}
