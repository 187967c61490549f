import { expect, it } from '@jest/globals';
import * as deliveryQueue from '../../pkg/postgres/migrations/0008-delivery-queue.ts';
import * as deliveryLines from '../../pkg/postgres/migrations/0009-delivery-lines.ts';
import { listDeliveries } from '../../pkg/webhooks/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase } from '../support/database.ts';

/** The tables as they were before deliveries had a queue. */
const BEFORE = `
DROP TRIGGER enqueue_delivery ON webhook_deliveries;
DROP FUNCTION enqueue_delivery;
DROP TABLE webhook_queue, webhook_ends, webhook_lines;
ALTER TABLE webhook_deliveries
  ADD state text NOT NULL DEFAULT 'pending', ADD attempts integer NOT NULL DEFAULT 0,
  ADD next_attempt_at timestamptz(3) NOT NULL DEFAULT now(), ADD lease_until timestamptz(3),
  ADD last_status integer, ADD last_error text,
  ADD started_at timestamptz(3) NOT NULL DEFAULT now(), ADD ended_at timestamptz(3);
`;

it('deliveries of versions before keep what became of them', async () => {
  const database = await openTestDatabase();
  const { db } = database;
  try {
    const accountId = await openAccount(db);
    await db.system.raw(BEFORE);
    await db.system.raw(
      `INSERT INTO webhook_deliveries
         (id, account_id, capture_id, type, url, body, state, attempts, next_attempt_at, last_status, last_error, ended_at)
       VALUES
         ('evt_1', :accountId, 'job_1.engine_news.us', 'job.completed', 'https://a.test/', '{}',
          'pending', 3, '2030-01-01T00:00:00Z', 500, 'the receiver answered 500', NULL),
         ('evt_2', :accountId, 'job_2.engine_news.us', 'job.completed', 'https://a.test/', '{}',
          'delivered', 1, now(), 204, NULL, '2026-01-01T00:00:00Z')`,
      { accountId },
    );
    await db.inTransaction(async (sql) => {
      await deliveryQueue.up(sql);
      await deliveryLines.up(sql);
    });
    const byId = new Map((await listDeliveries(db.system, { accountId, limit: 10 })).map((one) => [one.id, one]));
    expect(byId.get('evt_1')).toMatchObject({
      state: 'pending',
      attempts: 3,
      nextAttemptAt: '2030-01-01T00:00:00.000Z',
      lastStatus: 500,
      lastError: 'the receiver answered 500',
      deliveredAt: null,
    });
    expect(byId.get('evt_2')).toMatchObject({
      state: 'delivered',
      attempts: 1,
      nextAttemptAt: null,
      lastStatus: 204,
      deliveredAt: '2026-01-01T00:00:00.000Z',
    });
  } finally {
    await database.close();
  }
});
