import type { Envelope, PlacePosition, Surface } from '../../contract/index.ts';
import { query, type Database, type Reader } from '../../postgres/index.ts';
import { findWatch } from '../read.ts';
import { compareCaptures, type CaptureChange } from './compare.ts';

type Side = { runId: string; scheduledFor: string; childId: string; completedAt: string | null };

export type RunChange = Side & {
  surface: Surface;
  region: string;
  /** The last completed capture of the same surface and region before it. */
  comparedWith: Side;
} & CaptureChange;

export type ChangeListQuery = {
  accountId: string;
  watchId: string;
  limit: number;
  /** The page begins after this capture. */
  after: PlacePosition | null;
};

type PairRow = {
  runId: string;
  scheduledFor: Date;
  runCreatedAt: Date;
  place: number;
  childId: string;
  surface: Surface;
  region: string;
  earlierRunId: string;
  earlierScheduledFor: Date;
  earlierChildId: string;
};

/** Envelopes may be large, so only so many pairs of them are in memory at once. */
const PAIRS_AT_ONCE = 10;

/**
 * What changed from capture to capture of a watch, newest run first, in it in fan-out order. Only completed captures are
 * compared, so that a blocked or half-read page is never taken for a change; the first of a surface and region has
 * nothing to be compared with and is left out. Throws `WATCH_NOT_FOUND`.
 */
export async function listChanges(
  db: Database,
  wanted: ChangeListQuery,
): Promise<{ change: RunChange; position: PlacePosition }[]> {
  return db.readAsTenant(wanted.accountId, async (sql) => {
    await findWatch(sql, wanted.accountId, wanted.watchId);
    const pairs = await selectPairs(sql, wanted);
    const changes: { change: RunChange; position: PlacePosition }[] = [];
    for (let start = 0; start < pairs.length; start += PAIRS_AT_ONCE) {
      const some = pairs.slice(start, start + PAIRS_AT_ONCE);
      const envelopes = await readEnvelopes(sql, wanted.accountId, some);
      for (const pair of some) changes.push({ change: describe(pair, envelopes), position: positionOf(pair) });
    }
    return changes;
  });
}

async function selectPairs(sql: Reader, { accountId, watchId, limit, after }: ChangeListQuery): Promise<PairRow[]> {
  return query<PairRow>(
    sql,
    // The first condition of a later page narrows the index scan, the second cuts exactly.
    `SELECT r.id AS "runId", r.scheduled_for AS "scheduledFor", r.created_at AS "runCreatedAt", c.position AS place,
       c.id AS "childId", c.surface, c.region_key AS region,
       p.run_id AS "earlierRunId", p.scheduled_for AS "earlierScheduledFor", p.capture_id AS "earlierChildId"
     FROM watch_runs r
     JOIN captures c ON c.search_id = r.job_id AND c.account_id = :accountId AND c.state = 'completed'
     CROSS JOIN LATERAL (
       SELECT e.id AS run_id, e.scheduled_for, x.id AS capture_id
       FROM watch_runs e JOIN captures x ON x.search_id = e.job_id
       WHERE e.watch_id = r.watch_id AND (e.created_at, e.id) < (r.created_at, r.id) AND x.account_id = :accountId
         AND x.surface = c.surface AND x.region_key = c.region_key AND x.state = 'completed'
       ORDER BY e.created_at DESC, e.id DESC LIMIT 1
     ) p
     WHERE r.watch_id = :watchId AND r.account_id = :accountId
       ${
         after === null
           ? ''
           : `AND (r.created_at, r.id) <= (CAST(:createdAt AS timestamptz), :id)
              AND ((r.created_at, r.id) < (CAST(:createdAt AS timestamptz), :id) OR c.position > :place)`
       }
     ORDER BY r.created_at DESC, r.id DESC, c.position LIMIT :limit`,
    { accountId, watchId, limit, ...(after ?? {}) },
  );
}

async function readEnvelopes(sql: Reader, accountId: string, pairs: PairRow[]): Promise<Map<string, Envelope>> {
  const rows = await query<{ childId: string; envelope: Envelope }>(
    sql,
    `SELECT capture_id AS "childId", envelope FROM envelopes WHERE capture_id = ANY(:ids) AND account_id = :accountId`,
    { accountId, ids: pairs.flatMap(({ childId, earlierChildId }) => [childId, earlierChildId]) },
  );
  return new Map(rows.map(({ childId, envelope }) => [childId, envelope]));
}

function describe(pair: PairRow, envelopes: ReadonlyMap<string, Envelope>): RunChange {
  const after = envelopes.get(pair.childId);
  const before = envelopes.get(pair.earlierChildId);
  if (after === undefined || before === undefined) throw new Error(`${pair.childId} has ended without an envelope`);
  return {
    runId: pair.runId,
    scheduledFor: pair.scheduledFor.toISOString(),
    childId: pair.childId,
    surface: pair.surface,
    region: pair.region,
    completedAt: after.job.completedAt,
    comparedWith: {
      runId: pair.earlierRunId,
      scheduledFor: pair.earlierScheduledFor.toISOString(),
      childId: pair.earlierChildId,
      completedAt: before.job.completedAt,
    },
    ...compareCaptures(before, after),
  };
}

function positionOf({ runCreatedAt, runId, place }: PairRow): PlacePosition {
  return { createdAt: runCreatedAt.toISOString(), id: runId, place };
}
