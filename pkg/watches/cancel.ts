import { query, type Database } from '../postgres/index.ts';
import { requireOwnWatch, type WatchActor } from './actor.ts';
import { findWatch } from './read.ts';

/**
 * Ends a watch for good; its runs stay readable, and a job that runs goes on. Canceling it again changes nothing.
 * Throws `WATCH_NOT_FOUND`, or `VALIDATION_FAILED` for a watch of another manager.
 */
export async function cancelWatch(
  db: Database,
  actor: WatchActor,
  watchId: string,
): Promise<{ id: string; status: 'canceled' }> {
  await db.asTenant(actor.accountId, async (sql) => {
    const watch = await findWatch(sql, actor.accountId, watchId, 'FOR UPDATE');
    if (watch.status === 'canceled') return;
    requireOwnWatch(actor, watch);
    await query(sql, `UPDATE watches SET status = 'canceled', paused_reason = NULL WHERE id = :watchId`, { watchId });
  });
  return { id: watchId, status: 'canceled' };
}
