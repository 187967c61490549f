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
 * Makes a delivery due at once, in one statement: meant for the transaction that ends the capture. A capture has one
 * delivery, so a second one for it changes nothing.
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
  /** Null unless another attempt will come. */
  nextAttemptAt: string | null;
  lastStatus: number | null;
  lastError: string | null;
  createdAt: string;
  deliveredAt: string | null;
};

type SummaryRow = Pick<DeliverySummary, 'id' | 'type' | 'url' | 'state' | 'attempts' | 'lastStatus' | 'lastError'> & {
  captureId: string;
  nextAttemptAt: Date;
  createdAt: Date;
  endedAt: Date | null;
};

const SUMMARY = `id, type, capture_id AS "captureId", url, state, attempts, next_attempt_at AS "nextAttemptAt",
  last_status AS "lastStatus", last_error AS "lastError", created_at AS "createdAt", ended_at AS "endedAt"`;

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
    nextAttemptAt: row.state === 'pending' ? nextAttemptAt.toISOString() : null,
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

/** The account's deliveries, newest first. State and type have indexes in the list's order; a job has few deliveries. */
export async function listDeliveries(sql: Reader, page: DeliveryPage): Promise<DeliverySummary[]> {
  const { accountId, limit, after = null, state = null, type = null, jobId = null } = page;
  const conditions = [
    'account_id = :accountId',
    ...(after === null ? [] : ['(created_at, id) < (CAST(:createdAt AS timestamptz), :afterId)']),
    ...(state === null ? [] : ['state = :state']),
    ...(type === null ? [] : ['type = :type']),
    ...(jobId === null ? [] : [jobId.includes('.') ? 'capture_id = :jobId' : `capture_id IN (${CHILDREN})`]),
  ];
  const rows = await query<SummaryRow>(
    sql,
    `SELECT ${SUMMARY} FROM webhook_deliveries WHERE ${conditions.join(' AND ')}
     ORDER BY created_at DESC, id DESC LIMIT :limit`,
    {
      accountId,
      limit,
      ...(state === null ? {} : { state }),
      ...(type === null ? {} : { type }),
      ...(jobId === null ? {} : { jobId }),
      ...(after === null ? {} : { createdAt: after.createdAt, afterId: after.id }),
    },
  );
  return rows.map(summarize);
}

const CHILDREN = 'SELECT id FROM captures WHERE search_id = :jobId AND account_id = :accountId';

/**
 * Starts a delivery over, whatever became of it: the same bytes and event id, with all attempts before it again. One
 * that is being attempted right now, or was delivered since this transaction began, is what was asked for already and
 * stays as it is: asking twice at once sends once. Throws `NOT_FOUND` when the account has no such delivery.
 */
export async function redeliver(
  sql: Sql,
  { accountId, id }: { accountId: string; id: string },
): Promise<DeliverySummary> {
  await query(
    sql,
    `UPDATE webhook_deliveries
     SET state = 'pending', attempts = 0, next_attempt_at = now(), lease_until = NULL,
       started_at = now(), ended_at = NULL
     WHERE id = :id AND account_id = :accountId
       AND (lease_until IS NULL OR lease_until <= now()) AND (ended_at IS NULL OR ended_at < now())`,
    { accountId, id },
  );
  // A statement of its own, as it must see what a concurrent one has just done.
  const [row] = await query<SummaryRow>(
    sql,
    `SELECT ${SUMMARY} FROM webhook_deliveries WHERE id = :id AND account_id = :accountId`,
    { accountId, id },
  );
  if (row === undefined) throw new ServiceError('NOT_FOUND', `No delivery is named ${id}, or it has been forgotten.`);
  return summarize(row);
}
