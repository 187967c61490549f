import { invalid, newId, type Watch, type WatchDraft } from '../contract/index.ts';
import { query, type Database, type Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';
import { requireDestination, type Guard } from '../webhooks/index.ts';
import { exceedsLimit, requireInterval, type WatchActor } from './actor.ts';
import { toWatch, WATCH_COLUMNS, type WatchRow } from './rows.ts';

export type WatchDeps = { db: Database; clock: Clock; guard: Guard };

/**
 * Makes an active watch whose first run is one interval from now (spec 3.2). Throws `WATCH_INTERVAL_TOO_SHORT`,
 * `WATCH_LIMIT_EXCEEDED`, and `VALIDATION_FAILED` for a destination that is not public; never looks at credits.
 */
export async function createWatch(deps: WatchDeps, actor: WatchActor, draft: WatchDraft): Promise<Watch> {
  requireInterval(actor, draft.intervalMinutes);
  if (draft.webhookUrl !== null) await requireDestination(deps.guard, draft.webhookUrl, 'webhookUrl');
  const id = newId('watch', deps.clock.nowMs());
  const row = await deps.db.asTenant(actor.accountId, async (sql) => {
    await requireRoom(sql, actor);
    return insertWatch(sql, actor, id, draft);
  });
  return toWatch(row);
}

/**
 * Refuses one more active watch above the ceiling. The account's row stays locked until the caller's transaction ends,
 * so of racing creates and resumes each sees what those before it left. Not FOR UPDATE: that would also hold up every
 * insert that refers to the account.
 */
export async function requireRoom(sql: Sql, actor: WatchActor): Promise<void> {
  await query(sql, 'SELECT id FROM accounts WHERE id = :accountId FOR NO KEY UPDATE', { accountId: actor.accountId });
  const [row] = await query<{ active: number }>(
    sql,
    `SELECT count(*) AS active FROM watches WHERE account_id = :accountId AND status = 'active'`,
    { accountId: actor.accountId },
  );
  if (row === undefined || row.active >= actor.plan.activeWatches) throw exceedsLimit(actor);
}

async function insertWatch(sql: Sql, actor: WatchActor, id: string, draft: WatchDraft): Promise<WatchRow> {
  const [row] = await query<WatchRow>(
    sql,
    `INSERT INTO watches (id, account_id, managed_by, metered, name, query, surfaces, regions, extract, webhook_url,
                          interval_minutes, next_run_at)
     VALUES (:id, :accountId, :managedBy, :metered, :name, :query, :surfaces, CAST(:regions AS jsonb),
             CAST(:extract AS jsonb), :webhookUrl, :intervalMinutes, now() + make_interval(mins => :intervalMinutes))
     ON CONFLICT (account_id, managed_by) WHERE managed_by IS NOT NULL AND status <> 'canceled' DO NOTHING
     RETURNING ${WATCH_COLUMNS}`,
    {
      id,
      accountId: actor.accountId,
      managedBy: actor.managedBy,
      metered: actor.metered,
      name: draft.name,
      query: draft.query,
      surfaces: draft.surfaces,
      regions: JSON.stringify(draft.regions),
      extract: draft.extract === null ? null : JSON.stringify(draft.extract),
      webhookUrl: draft.webhookUrl,
      intervalMinutes: draft.intervalMinutes,
    },
  );
  if (row !== undefined) return row;
  throw invalid([{ path: 'managedBy', message: `${actor.managedBy ?? 'it'} has a watch already` }]);
}
