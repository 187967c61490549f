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
    `WITH forgotten AS (
       DELETE FROM webhook_ends WHERE delivery_id IN (
         SELECT delivery_id FROM webhook_ends WHERE ended_at < now() - make_interval(days => :days)
         ORDER BY ended_at LIMIT :turn FOR UPDATE SKIP LOCKED
       ) RETURNING delivery_id
     )
     DELETE FROM webhook_deliveries WHERE id IN (SELECT delivery_id FROM forgotten) RETURNING id`,
    { days, turn: TURN },
  );
  return rows.length;
}

async function giveUpWaiting(db: Database, days: number): Promise<number> {
  const rows = await query<{ id: string }>(
    db.system,
    `WITH given_up AS (
       DELETE FROM webhook_queue WHERE delivery_id IN (
         SELECT delivery_id FROM webhook_queue
         WHERE started_at < now() - make_interval(days => :days) AND next_attempt_at > now()
         LIMIT :turn FOR UPDATE SKIP LOCKED
       ) RETURNING *
     )
     INSERT INTO webhook_ends
       (delivery_id, account_id, state, attempts, last_status, last_error, started_at, created_at, ended_at)
     SELECT delivery_id, account_id, 'dead', attempts, last_status,
       coalesce(last_error, 'the destination was not tried, as it was failing'), started_at, created_at, now()
     FROM given_up RETURNING delivery_id AS id`,
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
