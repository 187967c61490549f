import type { PausedReason, Watch, WatchRunStatus } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';
import { toWatch, WATCH_COLUMNS, type WatchRow } from './rows.ts';

/** A watch of a Kubernetes resource, whoever's account it is in, with what became of its latest run. */
export type ManagedWatch = {
  managedBy: string;
  accountId: string;
  watch: Watch;
  lastOutcome: WatchRunStatus | null;
  lastDetail: string | null;
};

/**
 * The watches that belong to these resources and are not canceled: one each, or two while a resource's key moves to
 * another account.
 */
export async function readManagedWatches(sql: Sql, managedBy: readonly string[]): Promise<ManagedWatch[]> {
  const rows = await query<Omit<ManagedWatch, 'watch'> & WatchRow & { managedBy: string }>(
    sql,
    `SELECT w.*, r.status AS "lastOutcome", r.detail AS "lastDetail"
     FROM (SELECT account_id AS "accountId", ${WATCH_COLUMNS} FROM watches
           WHERE managed_by = ANY(:managedBy) AND status <> 'canceled') AS w
     LEFT JOIN LATERAL (SELECT status, detail FROM watch_runs WHERE watch_id = w.id
                        ORDER BY created_at DESC, id DESC LIMIT 1) AS r ON true`,
    { managedBy },
  );
  return rows.map(({ accountId, lastOutcome, lastDetail, ...row }) => ({
    managedBy: row.managedBy,
    accountId,
    watch: toWatch(row),
    lastOutcome,
    lastDetail,
  }));
}

/** Cancels the watches of a resource, of all accounts but one where one is named. Needs no key: the resource is gone. */
export async function cancelManagedWatches(sql: Sql, managedBy: string, exceptAccountId: string | null): Promise<void> {
  await query(
    sql,
    `UPDATE watches SET status = 'canceled', paused_reason = NULL
     WHERE managed_by = :managedBy AND status <> 'canceled' AND account_id IS DISTINCT FROM :exceptAccountId`,
    { managedBy, exceptAccountId },
  );
}

/** Cancels the watches of managers with this prefix, but those of `kept` in one account. Resolves to how many. */
export async function cancelOtherWatches(
  sql: Sql,
  wanted: { prefix: string; accountId: string; kept: readonly string[] },
): Promise<number> {
  const rows = await query<{ id: string }>(
    sql,
    `UPDATE watches SET status = 'canceled', paused_reason = NULL
     WHERE starts_with(managed_by, :prefix) AND status <> 'canceled'
       AND NOT (account_id = :accountId AND managed_by = ANY(:kept)) RETURNING id`,
    wanted,
  );
  return rows.length;
}

/**
 * Pauses the watches of a resource, and says why; one that is paused for another reason is then paused for this one.
 * Resolves to whether anything changed.
 */
export async function pauseManagedWatches(sql: Sql, managedBy: string, reason: PausedReason): Promise<boolean> {
  const rows = await query<{ id: string }>(
    sql,
    `UPDATE watches SET status = 'paused', paused_reason = :reason
     WHERE managed_by = :managedBy AND status <> 'canceled' AND paused_reason IS DISTINCT FROM :reason RETURNING id`,
    { managedBy, reason },
  );
  return rows.length > 0;
}

/** Runs of resources' watches in the last `seconds`, and whose they are. */
export async function listManagedRuns(sql: Sql, seconds: number): Promise<{ runId: string; managedBy: string }[]> {
  return query<{ runId: string; managedBy: string }>(
    sql,
    `SELECT r.id AS "runId", w.managed_by AS "managedBy" FROM watch_runs r JOIN watches w ON w.id = r.watch_id
     WHERE r.created_at > now() - make_interval(secs => :seconds) AND w.managed_by IS NOT NULL`,
    { seconds },
  );
}
