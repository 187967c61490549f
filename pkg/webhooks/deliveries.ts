import { ServiceError, type DeliveryFilter, type DeliveryState, type DeliveryType } from '../contract/index.ts';
import { query, type Reader, type Sql } from '../postgres/index.ts';

type NewDelivery = {
  /** `evt_…`, as in the body. */
  id: string;
  accountId: string;
  captureId: string;
  type: DeliveryType;
  url: string;
  /** Copy of the search's sealed inline secret; null where the account's managed secret signs. */
  secretCiphertext: string | null;
  /** As `buildDelivery` made it. */
  body: string;
};

/**
 * Makes a delivery, due at once (the database puts it in the queue): meant for the transaction that ends the capture. A
 * capture has one delivery, so a second one for it changes nothing.
 */
export async function insertDelivery(sql: Sql, delivery: NewDelivery): Promise<void> {
  await query(
    sql,
    `INSERT INTO webhook_deliveries (id, account_id, capture_id, type, url, secret_ciphertext, body)
     VALUES (:id, :accountId, :captureId, :type, :url, :secretCiphertext, :body)
     ON CONFLICT (capture_id) DO NOTHING`,
    delivery,
  );
}

/** What the log tells of a delivery: neither body nor secret. */
export type DeliverySummary = {
  id: string;
  type: DeliveryType;
  /** Parent id. */
  jobId: string;
  childId: string;
  url: string;
  state: DeliveryState;
  /** Since it was made, or started over. */
  attempts: number;
  /** Null while an attempt is due or under way, and when no other will come. */
  nextAttemptAt: string | null;
  lastStatus: number | null;
  lastError: string | null;
  createdAt: string;
  deliveredAt: string | null;
};

type SummaryRow = Pick<DeliverySummary, 'id' | 'type' | 'url' | 'state' | 'attempts' | 'lastStatus' | 'lastError'> & {
  captureId: string;
  nextAttemptAt: Date | null;
  createdAt: Date;
  endedAt: Date | null;
};

const SUMMARY = `d.id, d.type, d.capture_id AS "captureId", d.url, coalesce(e.state, 'pending') AS state,
  coalesce(q.attempts, e.attempts) AS attempts, CASE WHEN q.next_attempt_at > now() THEN q.next_attempt_at END AS "nextAttemptAt",
  coalesce(q.last_status, e.last_status) AS "lastStatus", coalesce(q.last_error, e.last_error) AS "lastError",
  d.created_at AS "createdAt", e.ended_at AS "endedAt"`;

/** Each delivery has a row in one of the two: it waits, or it has ended. */
const OUTCOME = `LEFT JOIN webhook_queue q ON q.delivery_id = d.id LEFT JOIN webhook_ends e ON e.delivery_id = d.id`;

function summarize({ captureId, nextAttemptAt, createdAt, endedAt, ...row }: SummaryRow): DeliverySummary {
  const [jobId = ''] = captureId.split('.');
  return {
    id: row.id,
    type: row.type,
    jobId,
    childId: captureId,
    url: row.url,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    lastStatus: row.lastStatus,
    lastError: row.lastError,
    createdAt: createdAt.toISOString(),
    deliveredAt: row.state === 'delivered' ? (endedAt?.toISOString() ?? null) : null,
  };
}

export type DeliveryPage = Partial<DeliveryFilter> & {
  accountId: string;
  limit: number;
  /** The page begins after this row, in the order `(created_at, id)` descending. */
  after?: { createdAt: string; id: string } | null;
};

/**
 * The account's deliveries, newest first. Those that wait, are dead or gone are read along an index of their own, and those
 * that were delivered, which almost all are, along that of all; a job has few deliveries.
 */
export async function listDeliveries(sql: Reader, page: DeliveryPage): Promise<DeliverySummary[]> {
  const { accountId, limit, after = null, state = null, type = null, jobId = null } = page;
  const lead = LEADS[state ?? 'delivered'];
  const [led = ''] = lead.split('.');
  const conditions = [
    'd.account_id = :accountId',
    `${led}.account_id = :accountId`,
    ...(after === null ? [] : [`(${led}.created_at, ${lead}) < (CAST(:createdAt AS timestamptz), :afterId)`]),
    ...(state === null || state === 'pending' ? [] : ['e.state = :state']),
    ...(type === null ? [] : ['d.type = :type']),
    ...(jobId === null ? [] : [jobId.includes('.') ? 'd.capture_id = :jobId' : `d.capture_id IN (${CHILDREN})`]),
  ];
  const rows = await query<SummaryRow>(
    sql,
    `SELECT ${SUMMARY} FROM webhook_deliveries d ${OUTCOME} WHERE ${conditions.join(' AND ')}
     ORDER BY ${led}.created_at DESC, ${lead} DESC LIMIT :limit`,
    {
      accountId,
      limit,
      ...(state === null || state === 'pending' ? {} : { state }),
      ...(type === null ? {} : { type }),
      ...(jobId === null ? {} : { jobId }),
      ...(after === null ? {} : { createdAt: after.createdAt, afterId: after.id }),
    },
  );
  return rows.map(summarize);
}

/** By which table the list is ordered. */
const LEADS = {
  delivered: 'd.id',
  pending: 'q.delivery_id',
  dead: 'e.delivery_id',
  gone: 'e.delivery_id',
} as const satisfies Record<DeliveryState, string>;

const CHILDREN = 'SELECT id FROM captures WHERE search_id = :jobId AND account_id = :accountId';

/** Requests that come so close together are one that was sent twice, and a quick receiver may have it by the second. */
const SAME_REQUEST_SECONDS = 5;

function isAnotherRequest(row: 'e' | 'q'): string {
  return `(${row}.started_at = ${row}.created_at OR ${row}.started_at < now() - make_interval(secs => :seconds))`;
}

/**
 * Starts a delivery over, whatever became of it: the same bytes and event id, with all attempts before it again. One
 * that is being attempted right now, or was started over a moment ago, is what was asked for already and stays as it is:
 * asking twice at once sends once. Throws `NOT_FOUND` when the account has no such delivery.
 */
export async function redeliver(
  sql: Sql,
  { accountId, id }: { accountId: string; id: string },
): Promise<DeliverySummary> {
  await query(
    sql,
    `WITH again AS (
       DELETE FROM webhook_ends e
       WHERE e.delivery_id = :id AND e.account_id = :accountId AND ${isAnotherRequest('e')}
       RETURNING e.delivery_id, e.account_id, e.created_at
     ), sooner AS (
       UPDATE webhook_queue q
       SET version = q.version + 1, attempts = 0, next_attempt_at = now(), started_at = now()
       WHERE q.delivery_id = :id AND q.account_id = :accountId AND ${isAnotherRequest('q')}
         AND q.next_attempt_at > now()
     )
     -- With a version of its own, so that whoever read an earlier row of it can't take this one for that.
     INSERT INTO webhook_queue (delivery_id, account_id, created_at, version)
     SELECT again.*, CAST(random() * 1e9 AS int) FROM again`,
    { accountId, id, seconds: SAME_REQUEST_SECONDS },
  );
  // A statement of its own, as it must see what a concurrent one has just done.
  const [row] = await query<SummaryRow>(
    sql,
    `SELECT ${SUMMARY} FROM webhook_deliveries d ${OUTCOME} WHERE d.id = :id AND d.account_id = :accountId`,
    { accountId, id },
  );
  if (row === undefined) throw new ServiceError('NOT_FOUND', `No delivery is named ${id}, or it has been forgotten.`);
  return summarize(row);
}
