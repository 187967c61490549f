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
  /** Attempts of one account that may run at once, in all workers together. */
  perAccount: number;
  leaseMs: number;
};

/**
 * Claims due deliveries, every account's oldest ones before anyone's next ones, so that an account with a long backlog
 * or a slow receiver does not delay the others. Reads the head of each account's queue by index instead of all that is
 * due. What is claimed was due before what is not, so those under way are found in that head too.
 */
export async function claimDue(sql: Sql, { limit, perAccount, leaseMs }: ClaimOptions): Promise<ClaimedDelivery[]> {
  return query<ClaimedDelivery>(
    sql,
    `WITH RECURSIVE owners AS (
       (SELECT account_id FROM webhook_deliveries WHERE state = 'pending' ORDER BY account_id LIMIT 1)
       UNION ALL
       SELECT (
         SELECT d.account_id FROM webhook_deliveries d
         WHERE d.state = 'pending' AND d.account_id > o.account_id ORDER BY d.account_id LIMIT 1
       ) FROM owners o WHERE o.account_id IS NOT NULL
     ), due AS (
       SELECT turn.id, turn.place, turn.next_attempt_at
       FROM owners o
       CROSS JOIN LATERAL (
         SELECT head.*, row_number() OVER (ORDER BY NOT head.leased, head.next_attempt_at, head.id) AS place
         FROM (
           SELECT d.id, d.next_attempt_at, coalesce(d.lease_until > now(), false) AS leased FROM webhook_deliveries d
           WHERE d.account_id = o.account_id AND d.state = 'pending' AND d.next_attempt_at <= now()
           -- Twice: two claims of one moment may have taken a share each.
           ORDER BY d.next_attempt_at, d.id LIMIT 2 * :perAccount
         ) head
       ) turn
       WHERE NOT turn.leased AND turn.place <= :perAccount
       ORDER BY place, turn.next_attempt_at, turn.id LIMIT :limit
     ), taken AS (
       SELECT d.id FROM webhook_deliveries d
       -- As an array, so that the plan looks up these ids and never reads all that is due.
       WHERE d.id = ANY(ARRAY(SELECT id FROM due)) AND ${IS_DUE}
       FOR UPDATE SKIP LOCKED
     )
     UPDATE webhook_deliveries d
     SET attempts = attempts + 1, lease_until = now() + :leaseMs * interval '1 millisecond'
     FROM taken WHERE d.id = taken.id
     RETURNING d.id, d.account_id AS "accountId", d.capture_id AS "captureId", d.url,
       d.secret_ciphertext AS "secretCiphertext", d.body, d.attempts, d.lease_until AS "leaseUntil"`,
    { limit, perAccount, leaseMs },
  );
}

// Asked again where the rows are locked: another worker may have taken one between choosing and locking.
const IS_DUE = `d.state = 'pending' AND d.next_attempt_at <= now() AND (d.lease_until IS NULL OR d.lease_until <= now())`;

/** How an attempt ended, for the row. */
export type AttemptEnd =
  | { state: 'delivered' | 'gone'; status: number }
  | { state: 'dead'; status: number | null; error: string }
  | { state: 'pending'; status: number | null; error: string; pauseMs: number }
  /** Not attempted after all: given back as if it had not been claimed, due again after the pause. */
  | { state: 'returned'; pauseMs: number };

export type Settlement = { claim: ClaimedDelivery; end: AttemptEnd };

/**
 * Writes the ends of many attempts in one statement. Returns the ids that were written: for the others the lease was
 * lost meanwhile, and whoever holds it now decides.
 */
export async function recordEnds(sql: Sql, settlements: readonly Settlement[]): Promise<Set<string>> {
  const written = await query<{ id: string }>(
    sql,
    `UPDATE webhook_deliveries d
     SET state = e.state, lease_until = NULL, attempts = d.attempts - e.uncounted,
       last_status = CASE WHEN e.uncounted = 1 THEN d.last_status ELSE e.status END,
       last_error = CASE WHEN e.uncounted = 1 THEN d.last_error ELSE e.error END,
       next_attempt_at = now() + e."pauseMs" * interval '1 millisecond',
       ended_at = CASE WHEN e.state <> 'pending' THEN now() END
     FROM jsonb_to_recordset(CAST(:ends AS jsonb))
       AS e(id text, "leaseUntil" timestamptz(3), state text, status int, error text, "pauseMs" float8, uncounted int)
     WHERE d.id = e.id AND d.state = 'pending' AND d.lease_until = e."leaseUntil"
     RETURNING d.id`,
    { ends: JSON.stringify(settlements.map(describeEnd)) },
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
