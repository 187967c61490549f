import type { Surface } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';

/** One refusal may be the question's fault; so many in a row are the surface's answer to us. */
export const REFUSALS_BEFORE_PAUSE = 3;
const FIRST_PAUSE_SECONDS = 15;
const LONGEST_PAUSE_SECONDS = 900;
const PICTURE_EVERY_SECONDS = 600;

/** How long nobody asks a surface that has refused so many times in a row: doubling, up to a quarter of an hour. */
export function pauseSeconds(inRow: number): number {
  if (inRow < REFUSALS_BEFORE_PAUSE) return 0;
  return Math.min(FIRST_PAUSE_SECONDS * 2 ** Math.min(inRow - REFUSALS_BEFORE_PAUSE, 10), LONGEST_PAUSE_SECONDS);
}

export type Refusal = { surface: Surface; captureId: string; detail: string };

/** Counts a refusal, and makes all pods of the lane hold back once there are several in a row. Returns how many. */
export async function noteRefusal(sql: Sql, refusal: Refusal): Promise<number> {
  const [row] = await query<{ inRow: number }>(
    sql,
    `INSERT INTO lane_refusals AS r (surface, in_row, detail, capture_id, refused_at)
     VALUES (:surface, 1, :detail, :captureId, now())
     ON CONFLICT (surface) DO UPDATE
     SET in_row = r.in_row + 1, detail = excluded.detail, capture_id = excluded.capture_id, refused_at = now()
     RETURNING in_row AS "inRow"`,
    refusal,
  );
  const inRow = row?.inRow ?? 0;
  const seconds = pauseSeconds(inRow);
  if (seconds > 0) {
    // Refusals that were on their way together may come in any order: the longest pause stays.
    await query(
      sql,
      `UPDATE lane_refusals SET ask_again_at = greatest(ask_again_at, now() + make_interval(secs => :seconds))
       WHERE surface = :surface`,
      { surface: refusal.surface, seconds },
    );
  }
  return inRow;
}

/** The surface answered: it is asked freely again. Writes only where it had refused before. */
export async function noteAnswer(sql: Sql, surface: Surface): Promise<void> {
  await query(sql, 'UPDATE lane_refusals SET in_row = 0, ask_again_at = NULL WHERE surface = :surface AND in_row > 0', {
    surface,
  });
}

/**
 * How many seconds the surface is not to be asked; 0 when it may be asked now. When a pause is over, one caller alone
 * gets 0: it tries for all, and the others wait for what it finds, `trialSeconds` at most.
 */
export async function askLeave(sql: Sql, surface: Surface, trialSeconds: number): Promise<number> {
  const [row] = await query<{ seconds: number }>(
    sql,
    `WITH trial AS (
       UPDATE lane_refusals SET ask_again_at = now() + make_interval(secs => :trialSeconds)
       WHERE surface = :surface AND ask_again_at <= now() RETURNING surface
     )
     -- The row is seen as it was: whoever came second while a pause ended finds it over, and no trial of its own.
     SELECT CASE WHEN EXISTS (SELECT FROM trial) THEN 0
                 WHEN r.ask_again_at > now() THEN CAST(extract(epoch FROM r.ask_again_at - now()) AS double precision)
                 ELSE :trialSeconds END AS seconds
     FROM lane_refusals r WHERE r.surface = :surface AND r.ask_again_at IS NOT NULL`,
    { surface, trialSeconds },
  );
  return row?.seconds ?? 0;
}

/** There was nothing to try after all: somebody else may. */
export async function giveLeaveBack(sql: Sql, surface: Surface): Promise<void> {
  await query(
    sql,
    'UPDATE lane_refusals SET ask_again_at = now() WHERE surface = :surface AND ask_again_at IS NOT NULL',
    { surface },
  );
}

/** Leaves a waiting capture alone for so long. Its time in the queue goes on. */
export async function postponeCapture(
  sql: Sql,
  { captureId, fence }: { captureId: string; fence: number },
  seconds: number,
): Promise<void> {
  await query(
    sql,
    `UPDATE captures SET announce_at = now() + make_interval(secs => :seconds)
     WHERE id = :captureId AND fence = :fence AND state = 'queued'`,
    { captureId, fence, seconds },
  );
}

/** True for one failed page of a surface every ten minutes: its picture is worth keeping, the next one's is not. */
export async function isPictureDue(sql: Sql, surface: Surface): Promise<boolean> {
  const rows = await query<{ surface: string }>(
    sql,
    `INSERT INTO lane_refusals AS r (surface, pictured_at) VALUES (:surface, now())
     ON CONFLICT (surface) DO UPDATE SET pictured_at = now()
     WHERE r.pictured_at IS NULL OR r.pictured_at < now() - make_interval(secs => :everySeconds)
     RETURNING surface`,
    { surface, everySeconds: PICTURE_EVERY_SECONDS },
  );
  return rows.length > 0;
}
