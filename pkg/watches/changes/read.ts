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

type RunPlace = { createdAt: string; id: string };

/** Runs looked at in one go, at the least: few round trips for a page, also when many runs have nothing to compare. */
const RUNS_AT_ONCE = 20;

async function selectPairs(sql: Reader, { accountId, watchId, limit, after }: ChangeListQuery): Promise<PairRow[]> {
  const pairs: PairRow[] = [];
  let from: RunPlace | null = after;
  let inclusive = true;
  const batch = Math.max(RUNS_AT_ONCE, limit);
  while (pairs.length < limit) {
    const runs = await selectRuns(sql, { accountId, watchId, from, inclusive, batch });
    for (const pair of await pairCaptures(sql, accountId, runs)) {
      if (pair.runId !== after?.id || pair.place > after.place) pairs.push(pair);
    }
    from = runs.at(-1) ?? null;
    inclusive = false;
    if (runs.length < batch || from === null) break;
  }
  return pairs.slice(0, limit);
}

type RunsWanted = { accountId: string; watchId: string; from: RunPlace | null; inclusive: boolean; batch: number };

async function selectRuns(sql: Reader, { from, inclusive, ...wanted }: RunsWanted): Promise<RunPlace[]> {
  const rows = await query<{ createdAt: Date; id: string }>(
    sql,
    `SELECT created_at AS "createdAt", id FROM watch_runs WHERE watch_id = :watchId AND account_id = :accountId
       ${from === null ? '' : `AND (created_at, id) ${inclusive ? '<=' : '<'} (CAST(:createdAt AS timestamptz), :id)`}
     ORDER BY created_at DESC, id DESC LIMIT :batch`,
    { ...wanted, ...(from === null ? {} : { createdAt: from.createdAt, id: from.id }) },
  );
  return rows.map(({ createdAt, id }) => ({ createdAt: createdAt.toISOString(), id }));
}

/** The completed captures of these runs, each with the last completed one before it of the same surface and region. */
async function pairCaptures(sql: Reader, accountId: string, runs: readonly RunPlace[]): Promise<PairRow[]> {
  return query<PairRow>(
    sql,
    // Earlier runs are walked from the newest, and the captures of each looked up: OFFSET 0 keeps Postgres from joining
    // whole tables instead, which it does as long as it has no statistics of them, and then does not end in time.
    `SELECT r.id AS "runId", r.scheduled_for AS "scheduledFor", r.created_at AS "runCreatedAt", c.position AS place,
       c.id AS "childId", c.surface, c.region_key AS region,
       p.run_id AS "earlierRunId", p.scheduled_for AS "earlierScheduledFor", p.capture_id AS "earlierChildId"
     FROM watch_runs r
     CROSS JOIN LATERAL (
       SELECT id, surface, region_key, position FROM captures
       WHERE search_id = r.job_id AND account_id = :accountId AND state = 'completed' OFFSET 0
     ) c
     CROSS JOIN LATERAL (
       SELECT e.id AS run_id, e.scheduled_for, x.id AS capture_id
       FROM (
         SELECT id, scheduled_for, job_id FROM watch_runs
         WHERE watch_id = r.watch_id AND (created_at, id) < (r.created_at, r.id)
         ORDER BY created_at DESC, id DESC
       ) e
       CROSS JOIN LATERAL (
         SELECT id FROM captures
         WHERE search_id = e.job_id AND account_id = :accountId AND state = 'completed'
           AND surface = c.surface AND region_key = c.region_key OFFSET 0
       ) x
       LIMIT 1
     ) p
     WHERE r.id = ANY(:runIds) AND r.account_id = :accountId
     ORDER BY r.created_at DESC, r.id DESC, c.position`,
    { accountId, runIds: runs.map(({ id }) => id) },
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
