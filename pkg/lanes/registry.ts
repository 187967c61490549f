import { SURFACES, type Surface } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';
import type { CaptureLane } from './lane.ts';

/** What the API needs to know of a surface's lane. */
export type LaneState = {
  surface: Surface;
  name: string;
  live: boolean;
  /** Why captures would fail right now; null while the lane can work. */
  unavailableReason: string | null;
  /** What its operator should know although it works. */
  notes: string[];
  queueSeconds: number;
  /** What its surface refused, since it last answered; null while it answers. */
  refusals: { inRow: number; lastAt: string; captureId: string; detail: string } | null;
};

/** Makes the table say what the documents say: a surface without a document has no live lane. */
export async function publishLanes(sql: Sql, lanes: readonly CaptureLane[]): Promise<void> {
  const rows = lanes.map(({ metadata, spec }) => ({
    surface: spec.surface,
    name: metadata.name,
    driver: spec.driver,
    live: !spec.suspend,
    queue_seconds: spec.timeouts.queueSeconds,
  }));
  await query(
    sql,
    `WITH given AS (
       SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb))
         AS l(surface text, name text, driver text, live boolean, queue_seconds int)
     ), gone AS (DELETE FROM lanes WHERE surface NOT IN (SELECT surface FROM given))
     INSERT INTO lanes (surface, name, driver, live, queue_seconds) SELECT surface, name, driver, live, queue_seconds FROM given
     ON CONFLICT (surface) DO UPDATE
     SET name = excluded.name, driver = excluded.driver, live = excluded.live, queue_seconds = excluded.queue_seconds,
         unavailable_reason = NULL, managed_by = NULL, updated_at = now()`,
    { rows: JSON.stringify(rows) },
  );
}

/** What the controller says of one surface, in the name of the CaptureLane `managedBy` (namespace/name). */
export type PublishedLane = Omit<LaneState, 'notes' | 'refusals'> & { driver: string; managedBy: string };

/** Makes the row of a surface so; false when it was so already, and nothing was written. */
export async function publishLane(sql: Sql, lane: PublishedLane): Promise<boolean> {
  const rows = await query<{ surface: string }>(
    sql,
    `INSERT INTO lanes AS l (surface, name, driver, live, unavailable_reason, queue_seconds, managed_by)
     VALUES (:surface, :name, :driver, :live, :unavailableReason, :queueSeconds, :managedBy)
     ON CONFLICT (surface) DO UPDATE
     SET name = excluded.name, driver = excluded.driver, live = excluded.live, queue_seconds = excluded.queue_seconds,
         unavailable_reason = excluded.unavailable_reason, managed_by = excluded.managed_by, updated_at = now()
     WHERE (l.name, l.driver, l.live, l.queue_seconds, l.unavailable_reason, l.managed_by) IS DISTINCT FROM
           (excluded.name, excluded.driver, excluded.live, excluded.queue_seconds, excluded.unavailable_reason, excluded.managed_by)
     RETURNING surface`,
    lane,
  );
  return rows.length > 0;
}

/** Takes back what was published in the name of a CaptureLane that is gone or no longer speaks for its surface. */
export async function withdrawLane(sql: Sql, managedBy: string): Promise<void> {
  await query(sql, 'DELETE FROM lanes WHERE managed_by = :managedBy', { managedBy });
}

/** Takes back every row whose CaptureLane is none of `managers`: what was deleted while no controller ran. */
export async function withdrawOtherLanes(sql: Sql, managers: readonly string[]): Promise<void> {
  await query(sql, 'DELETE FROM lanes WHERE managed_by IS NULL OR managed_by <> ALL(:managers)', { managers });
}

/** Says why the lane of a surface can't work (`DRIVER_UNAVAILABLE`), or that it can again. */
export async function reportLane(sql: Sql, surface: Surface, unavailableReason: string | null): Promise<void> {
  await query(
    sql,
    'UPDATE lanes SET unavailable_reason = :unavailableReason, updated_at = now() WHERE surface = :surface',
    {
      surface,
      unavailableReason,
    },
  );
}

/** Says what the operator of a lane should know although it works; replaces what was said before. */
export async function noteLane(sql: Sql, surface: Surface, notes: readonly string[]): Promise<void> {
  await query(
    sql,
    'UPDATE lanes SET notes = ARRAY(SELECT jsonb_array_elements_text(CAST(:notes AS jsonb))) WHERE surface = :surface',
    {
      surface,
      notes: JSON.stringify(notes),
    },
  );
}

export type LaneBook = {
  /** The lanes by surface, read from the database at most every `maxAgeMs`. */
  read(): Promise<ReadonlyMap<Surface, LaneState>>;
};

/** Remembers the lanes for a moment: every search asks for them, and they seldom change. */
export function createLaneBook(sql: Sql, clock: { nowMs(): number }, maxAgeMs: number): LaneBook {
  let known: { lanes: Promise<ReadonlyMap<Surface, LaneState>>; atMs: number } | null = null;
  return {
    read: () => {
      if (known !== null && clock.nowMs() - known.atMs < maxAgeMs) return known.lanes;
      const reading = { lanes: readLanes(sql), atMs: clock.nowMs() };
      known = reading;
      reading.lanes.catch(() => {
        if (known === reading) known = null;
      });
      return reading.lanes;
    },
  };
}

/** Every lane by its surface. */
export async function readLanes(sql: Sql): Promise<ReadonlyMap<Surface, LaneState>> {
  const rows = await query<LaneState>(
    sql,
    // A lane that holds back would only make a synchronous search wait for nothing.
    `SELECT l.surface, l.name, l.live, l.notes, l.queue_seconds AS "queueSeconds",
            coalesce(l.unavailable_reason, CASE WHEN r.ask_again_at > now() THEN
              format('The surface refused %s captures in a row; it is asked again at %s UTC.', r.in_row,
                     to_char(r.ask_again_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) END) AS "unavailableReason",
            CASE WHEN r.in_row > 0 THEN jsonb_build_object('inRow', r.in_row, 'lastAt', r.refused_at,
              'captureId', r.capture_id, 'detail', r.detail) END AS refusals
     FROM lanes l LEFT JOIN lane_refusals r USING (surface)`,
  );
  return new Map(rows.map((row) => [row.surface, row]));
}

/** Every surface of the enum, and whether a search for it can be captured now (spec 2.8). */
export function listSurfaces(lanes: ReadonlyMap<Surface, LaneState>): { id: Surface; live: boolean }[] {
  return SURFACES.map((id) => ({ id, live: lanes.get(id)?.live ?? false }));
}
