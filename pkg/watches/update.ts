import { invalid, type Region, type Surface, type Watch, type WatchPatch } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';
import { requireDestination } from '../webhooks/index.ts';
import { requireInterval, requireOwnWatch, type WatchActor } from './actor.ts';
import { requireRoom, type WatchDeps } from './create.ts';
import { findWatch } from './read.ts';
import { toWatch, WATCH_COLUMNS, type WatchRow } from './rows.ts';

/**
 * What can be changed of a watch. REST takes a `WatchPatch` only; the question and where it is asked change where a
 * Kubernetes resource says so.
 */
export type WatchChange = WatchPatch & { query?: string; surfaces?: Surface[]; regions?: Region[] };

/**
 * Changes a watch (spec 3.2, 4.13). A resumed one, and one whose interval changed, next runs an interval from now.
 * Throws `WATCH_NOT_FOUND`, `WATCH_INTERVAL_TOO_SHORT`, `WATCH_LIMIT_EXCEEDED` for a resume above the ceiling, and
 * `VALIDATION_FAILED` for a canceled watch, one of another manager, or a destination that is not public.
 */
export async function updateWatch(
  deps: WatchDeps,
  actor: WatchActor,
  watchId: string,
  change: WatchChange,
): Promise<Watch> {
  const { accountId } = actor;
  requireChangeable(actor, await deps.db.readAsTenant(accountId, (sql) => findWatch(sql, accountId, watchId)));
  // Before the transaction: looking a name up is a network call.
  if (change.webhookUrl !== undefined && change.webhookUrl !== null)
    await requireDestination(deps.guard, change.webhookUrl, 'webhookUrl');
  const row = await deps.db.asTenant(accountId, async (sql) => {
    const current = await findWatch(sql, accountId, watchId, 'FOR UPDATE');
    requireChangeable(actor, current);
    const next = applyChange(current, change);
    if (change.intervalMinutes !== undefined || next.resumed) requireInterval(actor, next.intervalMinutes);
    if (next.resumed) await requireRoom(sql, actor);
    return writeWatch(sql, watchId, next);
  });
  return toWatch(row);
}

function requireChangeable(actor: WatchActor, watch: WatchRow): void {
  if (watch.status === 'canceled') throw invalid([{ path: 'id', message: `${watch.id} is canceled, which is final` }]);
  requireOwnWatch(actor, watch);
}

type Changed = Pick<
  WatchRow,
  'name' | 'query' | 'surfaces' | 'regions' | 'extract' | 'webhookUrl' | 'intervalMinutes' | 'status' | 'pausedReason'
> & { resumed: boolean; restarted: boolean };

/** A watch that is paused already keeps its reason; the same interval again moves no tick. */
export function applyChange(current: WatchRow, { status, ...fields }: WatchChange): Changed {
  const paused = status === 'paused' && current.status === 'active';
  const resumed = status === 'active' && current.status === 'paused';
  const intervalMinutes = fields.intervalMinutes ?? current.intervalMinutes;
  return {
    ...current,
    ...fields,
    status: status ?? current.status,
    pausedReason: paused ? 'user' : resumed ? null : current.pausedReason,
    resumed,
    restarted: resumed || intervalMinutes !== current.intervalMinutes,
  };
}

async function writeWatch(sql: Sql, watchId: string, next: Changed): Promise<WatchRow> {
  const [row] = await query<WatchRow>(
    sql,
    `UPDATE watches
     SET name = :name, query = :query, surfaces = :surfaces, regions = CAST(:regions AS jsonb),
         extract = CAST(:extract AS jsonb), webhook_url = :webhookUrl, interval_minutes = :intervalMinutes,
         status = :status, paused_reason = :pausedReason,
         credit_skips = CASE WHEN :resumed THEN 0 ELSE credit_skips END,
         next_run_at = CASE WHEN :restarted THEN now() + make_interval(mins => :intervalMinutes) ELSE next_run_at END
     WHERE id = :watchId RETURNING ${WATCH_COLUMNS}`,
    {
      watchId,
      name: next.name,
      query: next.query,
      surfaces: next.surfaces,
      regions: JSON.stringify(next.regions),
      extract: next.extract === null ? null : JSON.stringify(next.extract),
      webhookUrl: next.webhookUrl,
      intervalMinutes: next.intervalMinutes,
      status: next.status,
      pausedReason: next.pausedReason,
      resumed: next.resumed,
      restarted: next.restarted,
    },
  );
  if (row === undefined) throw new Error(`${watchId} is locked, and gone`);
  return row;
}
