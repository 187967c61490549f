import { query, type Database } from '../postgres/index.ts';

/** How many rows one statement takes: enough to keep up, few enough to hold locks for a moment only. */
const TURN = 500;

/**
 * Deletes deliveries that ended longer ago than `days`, with their bodies and sealed secrets. Those that still wait after
 * that time are given up as `dead` first: a destination that is down for good would else gather them without end, as
 * waiting for it costs no attempt. Sealed inline secrets of searches go as soon as the search has ended, because its
 * deliveries hold copies. Returns how many rows changed.
 */
export async function forgetDeliveries(db: Database, { days }: { days: number }): Promise<number> {
  const counts = await Promise.all([deleteEnded(db, days), giveUpWaiting(db, days), dropInlineSecrets(db)]);
  return counts.reduce((sum, count) => sum + count, 0);
}

async function deleteEnded(db: Database, days: number): Promise<number> {
  const rows = await query<{ id: string }>(
    db.system,
    `DELETE FROM webhook_deliveries WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE ended_at < now() - make_interval(days => :days)
       ORDER BY ended_at LIMIT :turn FOR UPDATE SKIP LOCKED
     ) RETURNING id`,
    { days, turn: TURN },
  );
  return rows.length;
}

async function giveUpWaiting(db: Database, days: number): Promise<number> {
  const rows = await query<{ id: string }>(
    db.system,
    `UPDATE webhook_deliveries
     SET state = 'dead', lease_until = NULL, ended_at = now(),
       last_error = coalesce(last_error, 'the destination was not tried, as it was failing')
     WHERE id IN (
       SELECT id FROM webhook_deliveries
       WHERE state = 'pending' AND started_at < now() - make_interval(days => :days)
         AND (lease_until IS NULL OR lease_until <= now())
       LIMIT :turn FOR UPDATE SKIP LOCKED
     ) RETURNING id`,
    { days, turn: TURN },
  );
  return rows.length;
}

async function dropInlineSecrets(db: Database): Promise<number> {
  const rows = await query<{ id: string }>(
    db.system,
    `UPDATE searches SET webhook_secret_ciphertext = NULL WHERE id IN (
       SELECT id FROM searches WHERE webhook_secret_ciphertext IS NOT NULL AND state <> 'processing'
       ORDER BY created_at LIMIT :turn FOR UPDATE SKIP LOCKED
     ) RETURNING id`,
    { turn: TURN },
  );
  return rows.length;
}
