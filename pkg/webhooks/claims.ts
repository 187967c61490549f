import { query, type Sql } from '../postgres/index.ts';

/** A delivery that one worker owns until `leaseUntil`. Times are the database's: workers' clocks may disagree. */
export type ClaimedDelivery = {
  id: string;
  accountId: string;
  captureId: string;
  url: string;
  secretCiphertext: string | null;
  body: string;
  /** This attempt included. */
  attempts: number;
  /** Also the fence: what a worker writes after it lost the lease changes no row. */
  leaseUntil: Date;
};

export type ClaimOptions = {
  limit: number;
  /** Of one account that may be held at once, what is held already included. */
  perAccount: number;
  /** At most so many of one account now: where many accounts wait, no more of each is read than will be taken. */
  perTurn: number;
  /** What this worker holds already, by account. */
  held: ReadonlyMap<string, number>;
  leaseMs: number;
};

/**
 * Claims due deliveries, those of the accounts of which the fewest are held first, so that an account with a long
 * backlog or a slow receiver does not delay the others. A claim puts off what it takes to the end of its lease: it leaves
 * the head of its account's queue, where only that is left which is due, and is due again should nobody end it.
 */
export async function claimDue(sql: Sql, options: ClaimOptions): Promise<ClaimedDelivery[]> {
  const { limit, perAccount, perTurn, held, leaseMs } = options;
  return query<ClaimedDelivery>(
    sql,
    `WITH RECURSIVE owners AS (
       (SELECT account_id FROM webhook_queue ORDER BY account_id LIMIT 1)
       UNION ALL
       SELECT (SELECT q.account_id FROM webhook_queue q WHERE q.account_id > o.account_id ORDER BY q.account_id LIMIT 1)
       FROM owners o WHERE o.account_id IS NOT NULL
     ), due AS (
       SELECT turn.delivery_id
       FROM owners o
       LEFT JOIN unnest(CAST(:busy AS text[]), CAST(:counts AS int[])) AS b(account_id, held)
         ON b.account_id = o.account_id
       CROSS JOIN LATERAL (
         SELECT head.*, coalesce(b.held, 0)
           + row_number() OVER (ORDER BY head.next_attempt_at, head.delivery_id) AS place
         FROM (
           SELECT q.account_id, q.delivery_id, q.next_attempt_at FROM webhook_queue q
           -- From where the account begins, and not of the account: a queue's statistics are of some other moment, and
           -- one that believes an account to have few rows reads and sorts all of them.
           WHERE (q.account_id, q.next_attempt_at) >= (o.account_id, CAST('-infinity' AS timestamptz))
           ORDER BY q.account_id, q.next_attempt_at, q.delivery_id LIMIT :perTurn
         ) head
         WHERE head.account_id = o.account_id AND head.next_attempt_at <= now()
       ) turn
       WHERE turn.place <= :perAccount
       ORDER BY turn.place, turn.next_attempt_at, turn.delivery_id LIMIT :limit
     ), taken AS (
       SELECT q.delivery_id FROM webhook_queue q
       WHERE q.delivery_id = ANY(ARRAY(SELECT delivery_id FROM due))
         -- Asked again, as another worker may have taken one between choosing and locking.
         AND q.next_attempt_at <= now()
       FOR UPDATE SKIP LOCKED
     ), claimed AS (
       UPDATE webhook_queue q
       SET attempts = attempts + 1, lease_until = now() + :leaseMs * interval '1 millisecond',
         next_attempt_at = now() + :leaseMs * interval '1 millisecond'
       FROM taken WHERE q.delivery_id = taken.delivery_id
       RETURNING q.delivery_id, q.attempts, q.lease_until
     )
     SELECT d.id, d.account_id AS "accountId", d.capture_id AS "captureId", d.url,
       d.secret_ciphertext AS "secretCiphertext", d.body, c.attempts, c.lease_until AS "leaseUntil"
     FROM claimed c JOIN webhook_deliveries d ON d.id = c.delivery_id`,
    { limit, perAccount, perTurn, leaseMs, busy: [...held.keys()], counts: [...held.values()] },
  );
}

/** How an attempt ended, for the row. */
export type AttemptEnd =
  | { state: 'delivered' | 'gone'; status: number }
  | { state: 'dead'; status: number | null; error: string }
  | { state: 'pending'; status: number | null; error: string; pauseMs: number }
  /** Not attempted after all: given back as if it had not been claimed, due again after the pause. */
  | { state: 'returned'; pauseMs: number };

export type Settlement = { claim: ClaimedDelivery; end: AttemptEnd };

/**
 * Writes the ends of many attempts in one statement: what has ended leaves the queue. Returns the ids that were written:
 * for the others the lease was lost meanwhile, and whoever holds it now decides.
 */
export async function recordEnds(sql: Sql, settlements: readonly Settlement[]): Promise<Set<string>> {
  const written = await query<{ id: string }>(
    sql,
    `WITH e AS (
       SELECT * FROM jsonb_to_recordset(CAST(:ends AS jsonb))
         AS e(id text, "leaseUntil" timestamptz(3), state text, status int, error text, "pauseMs" float8, uncounted int)
     ), paused AS (
       UPDATE webhook_queue q
       SET lease_until = NULL, attempts = q.attempts - e.uncounted,
         last_status = CASE WHEN e.uncounted = 1 THEN q.last_status ELSE e.status END,
         last_error = CASE WHEN e.uncounted = 1 THEN q.last_error ELSE e.error END,
         next_attempt_at = now() + e."pauseMs" * interval '1 millisecond'
       FROM e WHERE e.state = 'pending' AND q.delivery_id = e.id AND q.delivery_id = ANY(:ids)
         AND q.lease_until = e."leaseUntil"
       RETURNING q.delivery_id
     ), ended AS (
       DELETE FROM webhook_queue q
       USING e WHERE e.state <> 'pending' AND q.delivery_id = e.id AND q.delivery_id = ANY(:ids)
         AND q.lease_until = e."leaseUntil"
       RETURNING q.delivery_id, q.account_id, e.state, q.attempts, e.status, e.error, q.started_at, q.created_at
     ), told AS (
       INSERT INTO webhook_ends
         (delivery_id, account_id, state, attempts, last_status, last_error, started_at, created_at, ended_at)
       SELECT ended.*, now() FROM ended
     )
     SELECT delivery_id AS id FROM paused UNION ALL SELECT delivery_id FROM ended`,
    // The ids once more, so that no plan reads the whole queue to find a few rows.
    { ends: JSON.stringify(settlements.map(describeEnd)), ids: settlements.map(({ claim }) => claim.id) },
  );
  return new Set(written.map(({ id }) => id));
}

function describeEnd({ claim, end }: Settlement): Record<string, string | number | Date | null> {
  return {
    id: claim.id,
    leaseUntil: claim.leaseUntil,
    state: end.state === 'returned' ? 'pending' : end.state,
    status: 'status' in end ? end.status : null,
    error: 'error' in end ? end.error : null,
    pauseMs: 'pauseMs' in end ? end.pauseMs : 0,
    uncounted: end.state === 'returned' ? 1 : 0,
  };
}
