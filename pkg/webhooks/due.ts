import { query, type Sql } from '../postgres/index.ts';

/** A delivery as it was read from the line of its account. */
export type DueDelivery = {
  id: string;
  accountId: string;
  captureId: string;
  url: string;
  secretCiphertext: string | null;
  body: string;
  /** Made before. */
  attempts: number;
  /** Of its row in the queue; changes with every write, so that what was read before it changes nothing. */
  version: number;
  /** As the database writes it. */
  dueAt: string;
};

/** Where in a line reading goes on: behind this delivery. */
export type Place = { dueAt: string; id: string };

/** Before every delivery of a line. */
export const LINE_BEGINS: Place = { dueAt: '-infinity', id: '' };

export type LineRead = {
  accountId: string;
  after: Place;
  most: number;
};

/**
 * What is due in these lines, in the order in which it became due, except for `held`. Nothing is written: the caller
 * holds the lines.
 */
export async function readDue(
  sql: Sql,
  reads: readonly LineRead[],
  held: readonly string[],
): Promise<readonly DueDelivery[]> {
  return query<DueDelivery>(
    sql,
    `SELECT d.id, d.account_id AS "accountId", d.capture_id AS "captureId", d.url,
       d.secret_ciphertext AS "secretCiphertext", d.body, head.attempts, head.version,
       CAST(head.next_attempt_at AS text) AS "dueAt"
     FROM unnest(CAST(:accountIds AS text[]), CAST(:dueAts AS timestamptz[]), CAST(:ids AS text[]), CAST(:mosts AS int[]))
       AS line(account_id, due_at, id, most)
     CROSS JOIN LATERAL (
       SELECT q.* FROM webhook_queue q
       -- From where the account begins, and not of the account: a queue's statistics are of some other moment, and
       -- one that believes an account to have few rows reads and sorts all of them.
       WHERE (q.account_id, q.next_attempt_at, q.delivery_id) > (line.account_id, line.due_at, line.id)
         AND q.delivery_id <> ALL(:held)
       ORDER BY q.account_id, q.next_attempt_at, q.delivery_id LIMIT line.most
     ) head
     -- Looked up one by one, for the same reason.
     CROSS JOIN LATERAL (SELECT * FROM webhook_deliveries d WHERE d.id = head.delivery_id OFFSET 0) d
     WHERE head.account_id = line.account_id AND head.next_attempt_at <= now()`,
    {
      accountIds: reads.map(({ accountId }) => accountId),
      dueAts: reads.map(({ after }) => after.dueAt),
      ids: reads.map(({ after }) => after.id),
      mosts: reads.map(({ most }) => most),
      held,
    },
  );
}
