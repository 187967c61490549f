import { randomBytes } from 'node:crypto';
import { Agent } from 'undici';
import { createKeyring } from '../../pkg/config/index.ts';
import { query, type Database } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { buildDelivery, createSecret, sign } from '../../pkg/webhooks/index.ts';
import { openAccount, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase } from '../support/database.ts';
import { openTestProcesses } from '../support/processes.ts';
import { until } from '../support/poll.ts';
import { findEmptyRedis } from '../support/redis.ts';
import { captureEnvelopes } from './envelopes.ts';
import { startBenchReceiver } from './receiver.ts';
import type { Row } from './table.ts';

/** One account has a limit of its own, however quick its receiver is. */
const ACCOUNTS = [20, 1];
const DELIVERIES = 20_000;
/** Taken in turns: what else the machine does at the moment slows both down alike. */
const ROUNDS = 5;
/** Requests at once of the bare loop; more made it slower. */
const BARE_CONCURRENCY = 64;
const KEYRING = `k1:${randomBytes(32).toString('base64')}`;
/** Takes the place of an event's id in a body that is made for many. */
const EVENT = `evt_${'0'.repeat(26)}`;

/**
 * Webhooks from when the first is taken to the last one recorded as delivered, by a real dispatcher, against a bare loop in
 * this process that signs and posts the same requests to the same receiver over kept connections. Taken in turns. The
 * bodies hold the envelopes that the demo's engines really gave. Told is the round with the ratio in the middle.
 */
export async function benchWebhooks(): Promise<Row[]> {
  const envelopes = await captureEnvelopes('which bicycle is best for commuting?');
  const createdAt = new Date(systemClock.nowMs()).toISOString();
  const bodies = envelopes.map((envelope) => buildDelivery({ eventId: EVENT, envelope, createdAt }).body);
  const database = await openTestDatabase();
  const receiver = await startBenchReceiver();
  const { url } = receiver;
  const processes = await openTestProcesses({
    DATABASE_URL: database.url,
    REDIS_URL: await findEmptyRedis(),
    API_KEY_PEPPER: TEST_PEPPER,
    SECRETS_KEYRING: KEYRING,
    WEBHOOK_EXTRA_DESTINATIONS: receiver.hostAndPort,
  });
  try {
    const accounts = await Promise.all(Array.from({ length: Math.max(...ACCOUNTS) }, () => openTenant(database.db)));
    await processes.start('dispatcher');
    // Both warm: the first thousands of requests of a process take twice as long.
    await postBare(url, bodies, DELIVERIES);
    await deliver(database.db, accounts, url, bodies, DELIVERIES);
    const rows: Row[] = [];
    for (const count of ACCOUNTS) {
      const rounds: { ours: number; bare: number }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const bare = await postBare(url, bodies, DELIVERIES);
        rounds.push({ bare, ours: await deliver(database.db, accounts.slice(0, count), url, bodies, DELIVERIES) });
      }
      const [middle = { ours: Number.NaN, bare: Number.NaN }] = rounds
        .toSorted((a, b) => a.ours / a.bare - b.ours / b.bare)
        .slice(Math.floor(ROUNDS / 2));
      const whose = count === 1 ? 'one account' : `${count} accounts`;
      rows.push({
        name: `webhook deliveries per second of ${whose} / bare undici loop`,
        ...middle,
        unit: '/s',
        atLeast: 0.6,
      });
    }
    return rows;
  } finally {
    await processes.close();
    await receiver.close();
    await database.close();
  }
}

async function openTenant(db: Database): Promise<string> {
  const accountId = await openAccount(db);
  await createSecret(db.system, { accountId, keyring: createKeyring(KEYRING), clock: systemClock, randomBytes });
  return accountId;
}

/** Deliveries per second of the service. */
async function deliver(
  db: Database,
  accounts: string[],
  url: string,
  bodies: string[],
  count: number,
): Promise<number> {
  await until(async () => (await query(db.system, 'SELECT FROM webhook_lines')).length === 0, {
    timeoutMs: 20_000,
    what: 'the dispatcher rests',
  });
  await db.system.raw('TRUNCATE webhook_deliveries, webhook_queue, webhook_ends');
  await query(
    db.system,
    `INSERT INTO webhook_deliveries (id, account_id, capture_id, type, url, body)
     SELECT 'evt_' || n.id, (CAST(:accounts AS text[]))[1 + n.place % :some], 'job_' || n.id || '.engine_news.us',
       'job.completed', :url, replace((CAST(:bodies AS text[]))[1 + n.place % :kinds], :event, 'evt_' || n.id)
     FROM (SELECT place, lpad(CAST(place AS text), 26, '0') AS id FROM generate_series(1, :count) place) n`,
    { accounts, some: accounts.length, url, count, bodies, kinds: bodies.length, event: EVENT },
  );
  const startedAt = await until(
    async () => {
      const [row] = await query<{ now: Date }>(
        db.system,
        'SELECT clock_timestamp() AS now WHERE EXISTS (SELECT FROM webhook_lines)',
      );
      return row?.now;
    },
    { timeoutMs: 20_000, what: 'the first line is taken', everyMs: 5 },
  );
  const endedAt = await until(
    async () => {
      const [row] = await query<{ endedAt: Date }>(
        db.system,
        `SELECT max(ended_at) AS "endedAt" FROM webhook_ends
         WHERE NOT EXISTS (SELECT FROM webhook_queue) HAVING count(*) > 0`,
      );
      return row?.endedAt;
    },
    // Seldom, as each look takes from what is measured.
    { timeoutMs: 120_000, what: 'all are delivered', everyMs: 250 },
  );
  return count / ((endedAt.getTime() - startedAt.getTime()) / 1000);
}

/** Posts per second of the bare loop. */
async function postBare(url: string, kinds: string[], count: number): Promise<number> {
  const agent = new Agent({ connections: BARE_CONCURRENCY });
  const { origin, pathname } = new URL(url);
  const bodies = Array.from({ length: count }, (_, place) =>
    (kinds[place % kinds.length] ?? '').replace(EVENT, `evt_${String(place).padStart(26, '0')}`),
  );
  const startedMs = performance.now();
  const post = async (): Promise<void> => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
      const seconds = Math.floor(Date.now() / 1000);
      const answer = await agent.request({
        origin,
        path: pathname,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'accept-encoding': 'identity',
          'user-agent': 'search-capture-service',
          'x-service-timestamp': String(seconds),
          'x-service-signature': sign('whsec_bare', seconds, body),
        },
        body,
      });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: BARE_CONCURRENCY }, post));
  const perSecond = count / ((performance.now() - startedMs) / 1000);
  await agent.close();
  return perSecond;
}
