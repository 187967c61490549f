import { query, type Database, type Sql } from '../postgres/index.ts';
import type { Announcement, Announcer } from '../queue/index.ts';
import type { Clock } from '../runtime/index.ts';
import { requeueCapture } from './claim.ts';
import { endCaptures, type Ending } from './end.ts';
import { MAX_ATTEMPTS } from './settle.ts';

/** How many rows one turn takes: enough to keep up, few enough to hold locks for a moment only. */
const TURN = 500;

/**
 * Announces waiting captures that are due: those whose accepting process died before it could, those whose queue was
 * lost with Redis, and those whose next attempt has come. One rule for all: a capture that waits is announced again
 * every `againSeconds`, and a claim makes a second announcement harmless. Returns how many were due.
 */
export async function announceDue(deps: { db: Database; announcer: Announcer }, againSeconds: number): Promise<number> {
  // Moved first and announced after the commit: nobody else announces the same now, and no network call is awaited
  // while rows are locked. What fails here is due again soon.
  const due = await query<Announcement>(
    deps.db.system,
    `UPDATE captures SET announce_at = now() + make_interval(secs => :againSeconds)
     WHERE id IN (
       SELECT id FROM captures WHERE state = 'queued' AND announce_at <= now()
       ORDER BY announce_at LIMIT :turn FOR UPDATE SKIP LOCKED
     )
     RETURNING id AS "captureId", surface, fence, synchronous`,
    { againSeconds, turn: TURN },
  );
  await deps.announcer.announce(due);
  return due.length;
}

/** Makes captures due for an announcement now, because whoever should have announced them could not. */
export async function announceSoon(db: Database, announcements: readonly { captureId: string }[]): Promise<void> {
  await query(db.system, `UPDATE captures SET announce_at = now() WHERE id = ANY(:ids) AND state = 'queued'`, {
    ids: announcements.map(({ captureId }) => captureId),
  });
}

type Due = { id: string; searchId: string; fence: number; attempts: number };

/** Ends captures that waited longer than they may: `expired`, uncharged. Returns how many. */
export async function expireDue(deps: { db: Database; clock: Clock }): Promise<number> {
  const due = await query<Due>(
    deps.db.system,
    `SELECT id, search_id AS "searchId", fence, attempts FROM captures
     WHERE state = 'queued' AND expires_at <= now() ORDER BY expires_at LIMIT :turn`,
    { turn: TURN },
  );
  let ended = 0;
  for (const capture of due) {
    // One transaction each: a sweep over many accounts never holds the rows of two.
    const envelopes = await deps.db.inTransaction((sql) =>
      endCaptures(sql, deps.clock, capture.searchId, [expired(capture)]),
    );
    ended += envelopes.length;
  }
  return ended;
}

function expired({ id, fence }: Due): Ending {
  return {
    captureId: id,
    fence,
    state: 'expired',
    outcome: 'expired',
    billed: false,
    error: { code: 'SURFACE_TIMEOUT', error: 'No lane took the capture in time.' },
    findings: null,
  };
}

/**
 * Finds captures whose lane gave no sign of life: another attempt, or after the last one `failed`. Returns how many.
 */
export async function rescueLost(deps: { db: Database; clock: Clock }, queueSeconds: number): Promise<number> {
  const lost = await query<Due>(
    deps.db.system,
    `SELECT id, search_id AS "searchId", fence, attempts FROM captures
     WHERE state = 'running' AND lease_until < now() ORDER BY lease_until LIMIT :turn`,
    { turn: TURN },
  );
  let rescued = 0;
  for (const capture of lost) {
    if (await deps.db.inTransaction((sql) => rescue(sql, deps.clock, capture, queueSeconds))) rescued += 1;
  }
  return rescued;
}

async function rescue(
  sql: Sql,
  clock: Clock,
  { id, searchId, fence, attempts }: Due,
  queueSeconds: number,
): Promise<boolean> {
  // Looked at again under the lock: a lane that was only late has renewed meanwhile, and keeps its capture.
  const still = await query<{ id: string }>(
    sql,
    `SELECT id FROM captures WHERE id = :id AND fence = :fence AND state = 'running' AND lease_until < now() FOR UPDATE`,
    { id, fence },
  );
  if (still.length === 0) return false;
  if (attempts < MAX_ATTEMPTS) return requeueCapture(sql, { captureId: id, fence, afterSeconds: 0, queueSeconds });
  const ended = await endCaptures(sql, clock, searchId, [
    {
      captureId: id,
      fence,
      state: 'failed',
      outcome: 'crashed',
      billed: false,
      error: { code: 'ACQUISITION_FAILED', error: `The lane was lost in each of ${MAX_ATTEMPTS} attempts.` },
      findings: null,
    },
  ]);
  return ended.length > 0;
}

/** Forgets idempotency keys older than any client retries (design keeps them for 24 h at least; this is 7 days). */
export async function forgetKeys(db: Database): Promise<number> {
  const rows = await query<{ hash: Buffer }>(
    db.system,
    `DELETE FROM idempotency_keys WHERE ctid IN (
       SELECT ctid FROM idempotency_keys WHERE created_at < now() - interval '7 days' LIMIT :turn
     ) RETURNING key_hash AS hash`,
    { turn: TURN },
  );
  return rows.length;
}
