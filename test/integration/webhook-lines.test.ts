import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createKeyring } from '../../pkg/config/index.ts';
import { newId } from '../../pkg/contract/index.ts';
import { query, type Sql } from '../../pkg/postgres/index.ts';
import {
  createDeliveryWorker,
  createSecret,
  createWebhookGuard,
  insertDelivery,
  listDeliveries,
  type DeliveryWorker,
} from '../../pkg/webhooks/index.ts';
import { keepLines, releaseLines, takeLines } from '../../pkg/webhooks/leases.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/poll.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';

const keyring = createKeyring(`k1:${randomBytes(32).toString('base64')}`);

let database: TestDatabase;
let receiver: Receiver;
let sql: Sql;
let accountId: string;
/** Ends the answers that the receiver owes. */
let answerAll: () => void = () => undefined;
let answersAtOnce = true;
let aheadMs = 0;
const clock = { nowMs: () => Date.now() + aheadMs };
const workers: DeliveryWorker[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  sql = database.db.system;
  receiver = await startReceiver((response) => {
    if (answersAtOnce) response.end();
    else {
      const before = answerAll;
      answerAll = () => (before(), response.end());
    }
  });
  accountId = await openAccount(database.db);
  await createSecret(sql, { accountId, keyring, clock, randomBytes });
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
  await sql.raw('TRUNCATE webhook_deliveries, webhook_queue, webhook_ends, webhook_lines');
  receiver.received.length = 0;
  [answersAtOnce, answerAll, aheadMs] = [true, () => undefined, 0];
});
afterAll(async () => {
  await receiver.close();
  await database.close();
});

async function makeDelivery(into: Sql = sql, owner = accountId): Promise<string> {
  const id = newId('evt', clock.nowMs());
  await insertDelivery(into, {
    id,
    accountId: owner,
    captureId: `${newId('job', clock.nowMs())}.engine_news.us`,
    type: 'job.completed',
    url: `${receiver.origin}/hook`,
    secretCiphertext: null,
    body: id,
  });
  return id;
}

function startWorker(): DeliveryWorker {
  const worker = createDeliveryWorker({
    sql,
    holder: randomUUID(),
    keyring,
    guard: createWebhookGuard(receiver.hostAndPort),
    clock,
    random: () => 0.5,
    log: pino({ level: 'silent' }),
  });
  workers.push(worker);
  return worker;
}

async function turnUntil(worker: DeliveryWorker, condition: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => (await worker.deliverDue(), condition()), { timeoutMs: 15_000, what: 'the deliveries' });
}

const sent = (): string[] => receiver.received.map(({ body }) => body);

async function allDelivered(): Promise<boolean> {
  return (await listDeliveries(sql, { accountId, limit: 100 })).every(({ state }) => state === 'delivered');
}

async function endLeases(): Promise<void> {
  await sql.raw(`UPDATE webhook_lines SET lease_until = now() - interval '1 second'`);
}

describe('the lease of a line', () => {
  const lease = (holder: string) => ({ holder, leaseMs: 60_000 });

  it('is had by one of many who ask at once, and only where something is due', async () => {
    await makeDelivery();
    const other = await openAccount(database.db);
    const later = await makeDelivery(sql, other);
    await query(
      sql,
      `UPDATE webhook_queue SET next_attempt_at = now() + interval '1 minute' WHERE delivery_id = :later`,
      {
        later,
      },
    );
    const taken = await Promise.all(Array.from({ length: 20 }, (_, n) => takeLines(sql, lease(`holder ${n}`), 10)));
    expect(taken.flat()).toEqual([accountId]);
  });

  it('is left to others for half of those that are due', async () => {
    const owners = await Promise.all(Array.from({ length: 8 }, () => openAccount(database.db)));
    for (const owner of owners) await makeDelivery(sql, owner);
    const shares = [];
    for (const holder of ['first', 'second', 'first', 'second', 'third'])
      shares.push((await takeLines(sql, lease(holder), 100)).length);
    expect(shares).toEqual([4, 2, 1, 1, 0]);
  });

  it('is taken over once it has ended, and then lost to who had it', async () => {
    await makeDelivery();
    expect(await takeLines(sql, lease('first'), 10)).toEqual([accountId]);
    expect(await takeLines(sql, lease('second'), 10)).toEqual([]);
    expect(await keepLines(sql, lease('first'), [accountId])).toEqual(new Set([accountId]));
    await endLeases();
    expect(await takeLines(sql, lease('second'), 10)).toEqual([accountId]);
    expect(await keepLines(sql, lease('first'), [accountId])).toEqual(new Set());
    await releaseLines(sql, 'first', [accountId]);
    expect(await takeLines(sql, lease('third'), 10)).toEqual([]);
    await releaseLines(sql, 'second', [accountId]);
    expect(await takeLines(sql, lease('third'), 10)).toEqual([accountId]);
  });

  it('lasts for as long as its holder renews it, whatever the receiver does', async () => {
    answersAtOnce = false;
    await makeDelivery();
    const [holder, other] = [startWorker(), startWorker()];
    await turnUntil(holder, () => sent().length === 1);
    await sql.raw(`UPDATE webhook_lines SET lease_until = now() + interval '1 second'`);
    aheadMs += 11_000;
    await holder.deliverDue();
    const [line] = await query<{ leftMs: number }>(
      sql,
      'SELECT CAST(extract(epoch FROM lease_until - now()) * 1000 AS float8) AS "leftMs" FROM webhook_lines',
    );
    expect(line?.leftMs).toBeGreaterThan(25_000);
    expect(await other.deliverDue()).toBe('idle');
    expect(sent()).toHaveLength(1);
  });
});

describe('a worker', () => {
  it('gives a line up when it is done, and when it closes', async () => {
    const countLines = async () => (await query(sql, 'SELECT FROM webhook_lines')).length;
    const worker = startWorker();
    await makeDelivery();
    await turnUntil(worker, allDelivered);
    await turnUntil(worker, async () => (await countLines()) === 0);

    answersAtOnce = false;
    const id = await makeDelivery();
    await turnUntil(worker, () => sent().length === 2);
    expect(await countLines()).toBe(1);
    await worker.close();
    expect(await countLines()).toBe(0);
    answersAtOnce = true;
    await turnUntil(startWorker(), allDelivered);
    expect(sent().filter((body) => body === id)).toHaveLength(2);
  });

  it('leaves the deliveries of one that died to the next once its leases have ended, and not before', async () => {
    answersAtOnce = false;
    const ids = [await makeDelivery(), await makeDelivery()];
    await turnUntil(startWorker(), () => sent().length === 2);
    // No turn of it comes any more.
    const next = startWorker();
    expect(await next.deliverDue()).toBe('idle');
    await endLeases();
    answersAtOnce = true;
    aheadMs += 1_000;
    await turnUntil(next, allDelivered);
    expect(sent().toSorted()).toEqual([...ids, ...ids].toSorted());
  });

  it('begins nothing more of a line that another has taken over', async () => {
    answersAtOnce = false;
    for (let n = 0; n < 70; n += 1) await makeDelivery();
    const frozen = startWorker();
    await turnUntil(frozen, () => sent().length === 64);
    await endLeases();
    const next = startWorker();
    await turnUntil(next, () => sent().length === 128);
    // It wakes up after its lease: its renewal tells it so, and what it has sent ends without more.
    aheadMs += 61_000;
    await frozen.deliverDue();
    answersAtOnce = true;
    answerAll();
    await turnUntil(next, allDelivered);
    expect(sent()).toHaveLength(64 + 70);
  });

  it('begins nothing more when its lease might not last, until it is renewed', async () => {
    answersAtOnce = false;
    const worker = startWorker();
    for (let n = 0; n < 65; n += 1) await makeDelivery();
    await turnUntil(worker, () => sent().length === 64);
    aheadMs += 50_000;
    answersAtOnce = true;
    answerAll();
    await until(async () => (await listDeliveries(sql, { accountId, limit: 100, state: 'delivered' })).length === 64, {
      timeoutMs: 10_000,
      what: 'the ends of what ran',
    });
    expect(sent()).toHaveLength(64);
    await turnUntil(worker, allDelivered);
    expect(sent()).toHaveLength(65);
  });

  it('signs what waits for its turn, also after a look that found nothing new', async () => {
    answersAtOnce = false;
    const worker = startWorker();
    for (let n = 0; n < 65; n += 1) await makeDelivery();
    await turnUntil(worker, () => sent().length === 64);
    for (let turn = 0; turn < 3; turn += 1) await worker.deliverDue();
    answersAtOnce = true;
    answerAll();
    await turnUntil(worker, allDelivered);
    const attempts = (await listDeliveries(sql, { accountId, limit: 100 })).map((delivery) => delivery.attempts);
    expect(attempts).toEqual(Array.from({ length: 65 }, () => 1));
  });

  it('finds what was made before others and seen after them', async () => {
    const worker = startWorker();
    let late = '';
    await database.db.inTransaction(async (trx) => {
      late = await makeDelivery(trx);
      // The backlog is longer than what is held at once, so that reading goes on where it was.
      for (let n = 0; n < 600; n += 1) await makeDelivery();
      await turnUntil(worker, () => sent().length >= 100);
    });
    await turnUntil(worker, () => sent().includes(late));
    await turnUntil(worker, () => sent().length === 601);
    expect(new Set(sent()).size).toBe(601);
  });

  it('serves many accounts that have one delivery each', async () => {
    const owners = await Promise.all(Array.from({ length: 300 }, () => openAccount(database.db)));
    for (const owner of owners) await makeDelivery(sql, owner);
    const worker = startWorker();
    const countEnded = async () =>
      (await query(sql, `SELECT FROM webhook_queue WHERE last_error = 'the signing secret is unavailable'`)).length;
    await turnUntil(worker, async () => (await countEnded()) === 300);
    expect(sent()).toEqual([]);
  });
});
