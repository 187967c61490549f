import { query, type Sql } from '../postgres/index.ts';

type DeliveryState = 'pending' | 'delivered' | 'dead' | 'gone';

type NewDelivery = {
  /** `evt_…`, as in the body. */
  id: string;
  accountId: string;
  captureId: string;
  url: string;
  /** Copy of the search's sealed inline secret; null where the account's managed secret signs. */
  secretCiphertext: string | null;
  /** What `buildDeliveryBody` returned. */
  body: string;
};

/**
 * Makes a delivery due at once, in one statement: meant for the transaction that ends the capture. A capture has one
 * delivery, so a second one for it changes nothing.
 */
export async function insertDelivery(sql: Sql, delivery: NewDelivery): Promise<void> {
  await query(
    sql,
    `INSERT INTO webhook_deliveries (id, account_id, capture_id, url, secret_ciphertext, body)
     VALUES (:id, :accountId, :captureId, :url, :secretCiphertext, :body)
     ON CONFLICT (capture_id) DO NOTHING`,
    delivery,
  );
}

export type DeliverySummary = {
  id: string;
  captureId: string;
  url: string;
  state: DeliveryState;
  attempts: number;
  /** Null unless another attempt will come. */
  nextAttemptAt: string | null;
  lastStatus: number | null;
  lastError: string | null;
  createdAt: string;
  deliveredAt: string | null;
};

type SummaryRow = {
  id: string;
  capture_id: string;
  url: string;
  state: DeliveryState;
  attempts: number;
  next_attempt_at: Date;
  last_status: number | null;
  last_error: string | null;
  created_at: Date;
  delivered_at: Date | null;
};

export type DeliveryPage = {
  accountId: string;
  limit: number;
  /** Id of the last delivery of the page before. */
  before?: string;
};

/** The account's deliveries, newest first, without bodies and secrets. */
export async function listDeliveries(sql: Sql, { accountId, limit, before }: DeliveryPage): Promise<DeliverySummary[]> {
  const rows = await query<SummaryRow>(
    sql,
    `SELECT id, capture_id, url, state, attempts, next_attempt_at, last_status, last_error, created_at, delivered_at
     FROM webhook_deliveries
     WHERE account_id = :accountId AND (:before::text IS NULL OR (created_at, id) < (
       SELECT created_at, id FROM webhook_deliveries WHERE id = :before AND account_id = :accountId
     ))
     ORDER BY created_at DESC, id DESC LIMIT :limit`,
    { accountId, limit, before: before ?? null },
  );
  return rows.map(summarize);
}

function summarize(row: SummaryRow): DeliverySummary {
  return {
    id: row.id,
    captureId: row.capture_id,
    url: row.url,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.state === 'pending' ? row.next_attempt_at.toISOString() : null,
    lastStatus: row.last_status,
    lastError: row.last_error,
    createdAt: row.created_at.toISOString(),
    deliveredAt: row.delivered_at?.toISOString() ?? null,
  };
}

/**
 * Starts the delivery over, whatever became of it: the same bytes and event id, with all attempts before it again. One
 * that is being attempted right now is left to that attempt. False when the account has no such delivery.
 */
export async function redeliver(sql: Sql, { accountId, id }: { accountId: string; id: string }): Promise<boolean> {
  const found = await query<{ id: string }>(
    sql,
    `WITH mine AS (
       SELECT id FROM webhook_deliveries WHERE id = :id AND account_id = :accountId
     ), restarted AS (
       UPDATE webhook_deliveries d
       SET state = 'pending', attempts = 0, next_attempt_at = now(), lease_until = NULL, delivered_at = NULL
       FROM mine WHERE d.id = mine.id AND (d.lease_until IS NULL OR d.lease_until <= now())
     )
     SELECT id FROM mine`,
    { accountId, id },
  );
  return found.length > 0;
}
