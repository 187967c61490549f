import type { CaptureState, Envelope, PlacePosition, Surface, WatchRun } from '../../contract/index.ts';
import { query, type Database } from '../../postgres/index.ts';
import { findWatch } from '../read.ts';
import { toRun } from '../rows.ts';

export type ExportedChild = { id: string; surface: Surface; region: string; status: CaptureState };

/** One capture of a run; a run that made no job is one row without a child. */
export type ExportRow = { run: WatchRun; child: ExportedChild | null; result: Envelope | null };

/** Held in memory at once: envelopes may be large. */
const PAGE = 25;

type Row = {
  id: string;
  watchId: string;
  jobId: string | null;
  scheduledFor: Date;
  status: WatchRun['status'];
  detail: string;
  createdAt: Date;
  place: number;
  childId: string | null;
  surface: Surface;
  region: string;
  childStatus: CaptureState;
  envelope: Envelope | null;
};

/** Throws `WATCH_NOT_FOUND` for a watch that the account does not have. */
export async function requireWatch(db: Database, accountId: string, watchId: string): Promise<void> {
  await db.readAsTenant(accountId, (sql) => findWatch(sql, accountId, watchId));
}

/**
 * Everything a watch has found, oldest run first, page by page as it is asked for: a reader that waits holds neither
 * memory nor a connection.
 */
export async function* exportWatch(db: Database, accountId: string, watchId: string): AsyncGenerator<ExportRow> {
  for (let after: PlacePosition | null = null; ;) {
    const rows: Row[] = await readPage(db, { accountId, watchId, after });
    for (const row of rows) yield toExportRow(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = { createdAt: last.createdAt.toISOString(), id: last.id, place: last.place };
  }
}

type PageQuery = { accountId: string; watchId: string; after: PlacePosition | null };

async function readPage(db: Database, { accountId, watchId, after }: PageQuery): Promise<Row[]> {
  return db.readAsTenant(accountId, (sql) =>
    query<Row>(
      sql,
      `SELECT r.id, r.watch_id AS "watchId", r.job_id AS "jobId", r.scheduled_for AS "scheduledFor", r.status, r.detail,
         r.created_at AS "createdAt", coalesce(c.position, 0) AS place, c.id AS "childId", c.surface, c.region_key AS region,
         c.state AS "childStatus", e.envelope
       FROM watch_runs r
       LEFT JOIN captures c ON c.search_id = r.job_id AND c.account_id = :accountId
       LEFT JOIN envelopes e ON e.capture_id = c.id
       WHERE r.watch_id = :watchId AND r.account_id = :accountId
         ${
           after === null
             ? ''
             : `AND (r.created_at, r.id) >= (CAST(:createdAt AS timestamptz), :id)
                AND ((r.created_at, r.id) > (CAST(:createdAt AS timestamptz), :id) OR c.position > :place)`
         }
       ORDER BY r.created_at, r.id, c.position LIMIT :limit`,
      { accountId, watchId, limit: PAGE, ...(after ?? {}) },
    ),
  );
}

function toExportRow(row: Row): ExportRow {
  const { id, watchId, jobId, scheduledFor, status, detail, createdAt, childId, surface, region, childStatus } = row;
  return {
    run: toRun({ id, watchId, jobId, scheduledFor, status, detail, createdAt }),
    child: childId === null ? null : { id: childId, surface, region, status: childStatus },
    result: row.envelope,
  };
}
