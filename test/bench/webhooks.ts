import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Agent } from 'undici';
import { createKeyring } from '../../pkg/config/index.ts';
import { newId } from '../../pkg/contract/index.ts';
import { query, type Database } from '../../pkg/postgres/index.ts';
import { pause, systemClock } from '../../pkg/runtime/index.ts';
import { createSecret, sign } from '../../pkg/webhooks/index.ts';
import { openAccount, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase } from '../support/database.ts';
import { openTestProcesses } from '../support/processes.ts';
import { findEmptyRedis } from '../support/redis.ts';
import { median, type Row } from './table.ts';

const ACCOUNTS = 20;
const DELIVERIES = 4_000;
/** Short and many, taken in turns: what else the machine does at the moment slows both down alike. */
const ROUNDS = 5;
/** Requests at once of the bare loop; more did not make it faster. */
const BARE_CONCURRENCY = 64;
const KEYRING = `k1:${randomBytes(32).toString('base64')}`;
/** About the size of an envelope with a page of text and ten sources. */
const TEXT = 'Which bicycle is best for commuting? '.repeat(160);

/**
 * Webhooks from their commit to the last one recorded as delivered, by a real dispatcher, against a bare loop in this
 * process that signs and posts bodies of the same size to the same receiver over kept connections. Taken in turns.
 */
export async function benchWebhooks(): Promise<Row[]> {
  const database = await openTestDatabase();
  const receiver = fork(fileURLToPath(new URL('receiver.ts', import.meta.url)));
  const [ready]: unknown[] = await once(receiver, 'message', { signal: AbortSignal.timeout(20_000) });
  const port = isReady(ready) ? ready.port : 0;
  const url = `http://127.0.0.1:${port}/hook`;
  const processes = await openTestProcesses({
    DATABASE_URL: database.url,
    REDIS_URL: await findEmptyRedis(),
    API_KEY_PEPPER: TEST_PEPPER,
    SECRETS_KEYRING: KEYRING,
    WEBHOOK_EXTRA_DESTINATIONS: `127.0.0.1:${port}`,
  });
  try {
    const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => openTenant(database.db)));
    await processes.start('dispatcher');
    await postBare(url, 500);
    await deliver(database.db, accounts, url, 500);
    const ours: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      bare.push(await postBare(url, DELIVERIES));
      ours.push(await deliver(database.db, accounts, url, DELIVERIES));
    }
    return [
      {
        name: 'webhook deliveries per second / bare undici loop',
        ours: median(ours),
        bare: median(bare),
        unit: '/s',
        atLeast: 0.6,
      },
    ];
  } finally {
    await processes.close();
    receiver.kill();
    await database.close();
  }
}

function isReady(message: unknown): message is { port: number } {
  return typeof message === 'object' && message !== null && 'port' in message;
}

async function openTenant(db: Database): Promise<string> {
  const accountId = await openAccount(db);
  await createSecret(db.system, { accountId, keyring: createKeyring(KEYRING), clock: systemClock, randomBytes });
  return accountId;
}

/** Deliveries per second of the service. */
async function deliver(db: Database, accounts: string[], url: string, count: number): Promise<number> {
  await query(db.system, 'DELETE FROM webhook_deliveries');
  await db.system.raw('VACUUM ANALYZE webhook_deliveries');
  await query(
    db.system,
    `INSERT INTO webhook_deliveries (id, account_id, capture_id, type, url, body)
     SELECT 'evt_' || n.id, (CAST(:accounts AS text[]))[1 + n.place % :some], 'job_' || n.id || '.engine_news.us',
       'job.completed', :url, CAST(json_build_object('id', 'evt_' || n.id, 'n', n.place, 'text', CAST(:text AS text)) AS text)
     FROM (SELECT place, lpad(CAST(place AS text), 26, '0') AS id FROM generate_series(1, :count) place) n`,
    { accounts, some: accounts.length, url, count, text: TEXT },
  );
  const startedMs = performance.now();
  for (;;) {
    const [left] = await query<{ count: number }>(
      db.system,
      `SELECT count(*) AS count FROM webhook_deliveries WHERE state = 'pending'`,
    );
    if (left?.count === 0) return count / ((performance.now() - startedMs) / 1000);
    if (performance.now() - startedMs > 120_000)
      throw new Error(`${left?.count} deliveries are left after two minutes`);
    await pause(20);
  }
}

/** Posts per second of the bare loop. */
async function postBare(url: string, count: number): Promise<number> {
  const agent = new Agent({ connections: BARE_CONCURRENCY });
  const { origin, pathname } = new URL(url);
  const bodies = Array.from({ length: count }, (_, n) => JSON.stringify({ id: newId('evt', n), n, text: TEXT }));
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
