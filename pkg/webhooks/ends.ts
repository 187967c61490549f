import { query, type Sql } from '../postgres/index.ts';
import type { DueDelivery } from './due.ts';

/** How an attempt ended, for the row. */
export type AttemptEnd =
  | { state: 'delivered' | 'gone'; status: number; error: null }
  | { state: 'dead'; status: number | null; error: string }
  | { state: 'pending'; status: number | null; error: string; pauseMs: number }
  /** Not attempted after all: not counted, and due again after the pause. */
  | { state: 'postponed'; pauseMs: number };

export type Settlement = { delivery: Pick<DueDelivery, 'id' | 'version'>; end: AttemptEnd };

/**
 * Writes the ends of many attempts: what has ended leaves the queue. Returns the ids of those that came too late: their
 * rows were changed after they had been read, and whoever did that decides.
 */
export async function recordEnds(sql: Sql, settlements: readonly Settlement[]): Promise<Set<string>> {
  const late = new Set<string>();
  for (const group of groupAlike(settlements)) {
    const [{ written, ids } = { written: 0, ids: [] }] = await recordAlike(sql, group);
    if (written === group.settlements.length) continue;
    const found = new Set(ids);
    for (const { delivery } of group.settlements) if (!found.has(delivery.id)) late.add(delivery.id);
  }
  return late;
}

/** How many were written, and which where not all were. */
type Written = { written: number; ids: string[] | null };

type Alike = { end: AttemptEnd; settlements: Settlement[] };

/** Those that ended alike but for their pauses: most answers are the same, so what they say is sent only once. */
function groupAlike(settlements: readonly Settlement[]): Iterable<Alike> {
  const groups = new Map<string, Alike>();
  for (const settlement of settlements) {
    const { end } = settlement;
    const key = end.state === 'postponed' ? end.state : `${end.state} ${end.status} ${end.error}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { end, settlements: [settlement] });
    else group.settlements.push(settlement);
  }
  return groups.values();
}

async function recordAlike(sql: Sql, { end, settlements }: Alike): Promise<Written[]> {
  const ids = settlements.map(({ delivery }) => delivery.id);
  const versions = settlements.map(({ delivery }) => delivery.version);
  if (end.state === 'pending' || end.state === 'postponed') {
    const pauses = settlements.map(({ end: own }) => ('pauseMs' in own ? own.pauseMs : 0));
    const tried =
      end.state === 'pending'
        ? { times: 1, status: end.status, error: end.error }
        : { times: 0, status: null, error: null };
    return query(sql, PUT_OFF, { ids, versions, pauses, ...tried });
  }
  return query(sql, END, { ids, versions, state: end.state, status: end.status, error: end.error });
}

// Rows are looked up by a list of ids, so that no plan reads the whole queue to find a few.
const PUT_OFF = `
WITH e AS MATERIALIZED (
  SELECT * FROM unnest(CAST(:ids AS text[]), CAST(:versions AS int[]), CAST(:pauses AS float8[])) AS e(id, version, pause_ms)
), put_off AS (
  UPDATE webhook_queue q
  SET version = q.version + 1, attempts = q.attempts + :times,
    last_status = CASE WHEN :times = 0 THEN q.last_status ELSE CAST(:status AS int) END,
    last_error = CASE WHEN :times = 0 THEN q.last_error ELSE :error END,
    next_attempt_at = now() + e.pause_ms * interval '1 millisecond'
  FROM e WHERE q.delivery_id = e.id AND q.delivery_id = ANY(ARRAY(SELECT id FROM e)) AND q.version = e.version
  RETURNING q.delivery_id
)
${tellWritten('put_off')}`;

const END = `
WITH e AS MATERIALIZED (
  SELECT * FROM unnest(CAST(:ids AS text[]), CAST(:versions AS int[])) AS e(id, version)
), ended AS (
  DELETE FROM webhook_queue q USING e
  WHERE q.delivery_id = e.id AND q.delivery_id = ANY(ARRAY(SELECT id FROM e)) AND q.version = e.version
  RETURNING q.*
), told AS (
  INSERT INTO webhook_ends
    (delivery_id, account_id, state, attempts, last_status, last_error, started_at, created_at, ended_at)
  SELECT delivery_id, account_id, :state, attempts + 1, :status, :error, started_at, created_at, now() FROM ended
)
${tellWritten('ended')}`;

function tellWritten(rows: string): string {
  return `SELECT count(*) AS written,
    CASE WHEN count(*) < (SELECT count(*) FROM e) THEN array_agg(delivery_id) END AS ids FROM ${rows}`;
}
