import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createKeyring } from '../../pkg/config/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { runCommand, systemClock } from '../../pkg/runtime/index.ts';
import { createSecret, verify } from '../../pkg/webhooks/index.ts';
import { openAccount, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/poll.ts';
import { openTestProcesses, type TestProcesses } from '../support/processes.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { findEmptyRedis } from '../support/redis.ts';

const DELIVERIES = 5_000;
/** So many that fewer than ten deliveries of each hang at once: the breaker would open, and probes take minutes. */
const ACCOUNTS = 25;
const KEYRING = `k1:${randomBytes(32).toString('base64')}`;
/** 100 MB in all: kept in memory, they would show. */
const BODY_BYTES = 20_000;
const GROWTH_ALLOWED_MB = 30;

let database: TestDatabase;
let processes: TestProcesses;
let receiver: Receiver;
const secrets: string[] = [];

type Seen = { arrivals: number; acknowledged: number; sha256: Set<string>; signed: boolean };
const seen = new Map<string, Seen>();

/** A number from 0 to 99 that the same words always give: a failure here is one that can be had again. */
function chance(...words: (string | number)[]): number {
  return createHash('sha256').update(words.join(' ')).digest().readUInt32BE() % 100;
}

/** What the receiver does with this arrival of an event. From the fifth on it is kind, so that none runs out of attempts. */
function behave(id: string, arrival: number, response: ServerResponse): 'acknowledged' | 'failed' {
  const draw = arrival > 4 ? 99 : chance(id, arrival);
  if (draw < 15) response.writeHead(500).end('no');
  else if (draw < 30) response.destroy();
  else if (draw < 32) return 'failed';
  else if (draw < 34) response.writeHead(200, { 'content-length': '100' }).write('torn', () => response.destroy());
  else response.writeHead(draw < 60 ? 204 : 200).end();
  return draw < 32 ? 'failed' : 'acknowledged';
}

beforeAll(async () => {
  database = await openTestDatabase();
  receiver = await startReceiver((response, request, body) => {
    receiver.received.length = 0;
    const [, id = ''] = /"id" ?: ?"(evt_\w+)"/.exec(body) ?? [];
    const known = seen.get(id) ?? { arrivals: 0, acknowledged: 0, sha256: new Set(), signed: true };
    seen.set(id, known);
    known.arrivals += 1;
    known.sha256.add(createHash('sha256').update(body).digest('hex'));
    known.signed &&= verify({
      timestamp: String(request.headers['x-service-timestamp']),
      signature: String(request.headers['x-service-signature']),
      rawBody: body,
      secrets,
      nowSeconds: Date.now() / 1000,
    });
    if (behave(id, known.arrivals, response) === 'acknowledged') known.acknowledged += 1;
  });
  processes = await openTestProcesses({
    DATABASE_URL: database.url,
    REDIS_URL: await findEmptyRedis(),
    API_KEY_PEPPER: TEST_PEPPER,
    SECRETS_KEYRING: KEYRING,
    WEBHOOK_EXTRA_DESTINATIONS: receiver.hostAndPort,
    // V8 collects late when nothing presses it; this makes what is held differ from what is merely not collected yet.
    NODE_OPTIONS: '--max-old-space-size=96 --max-semi-space-size=8',
  });
}, 60_000);
afterAll(async () => {
  await processes.close();
  await receiver.close();
  await database.close();
});

async function makeDeliveries(): Promise<void> {
  const keyring = createKeyring(KEYRING);
  const accounts: string[] = [];
  for (let index = 0; index < ACCOUNTS; index += 1) {
    const accountId = await openAccount(database.db);
    const maker = { accountId, keyring, clock: systemClock, randomBytes };
    secrets.push((await createSecret(database.db.system, maker)).value);
    accounts.push(accountId);
  }
  await query(
    database.db.system,
    `INSERT INTO webhook_deliveries (id, account_id, capture_id, type, url, body)
     SELECT 'evt_' || n.id, (CAST(:accounts AS text[]))[1 + n.place % :some], 'job_' || n.id || '.engine_news.us',
       'job.completed', :url, CAST(json_build_object('id', 'evt_' || n.id, 'text', repeat(md5(n.id) || 'ü🦊', :times)) AS text)
     FROM (SELECT place, lpad(CAST(place AS text), 26, '0') AS id FROM generate_series(1, :count) place) n`,
    { accounts, some: ACCOUNTS, count: DELIVERIES, url: `${receiver.origin}/hook`, times: Math.floor(BODY_BYTES / 38) },
  );
}

/** Hours pass: what waits for its next attempt is due. */
async function skipPauses(): Promise<void> {
  await query(
    database.db.system,
    `UPDATE webhook_queue SET next_attempt_at = now()
     WHERE delivery_id IN (SELECT delivery_id FROM webhook_queue WHERE next_attempt_at > now()
                           FOR UPDATE SKIP LOCKED)`,
  );
}

async function countDelivered(): Promise<number> {
  const [row] = await query<{ count: number }>(
    database.db.system,
    `SELECT count(*) AS count FROM webhook_ends WHERE state = 'delivered'`,
  );
  return row?.count ?? 0;
}

async function readMemoryMb(pid: number): Promise<number> {
  return Number(await runCommand('ps', ['-o', 'rss=', '-p', String(pid)], { timeoutMs: 10_000 })) / 1024;
}

it('brings all of 5,000 deliveries to a receiver that fails, hangs and hangs up, though a dispatcher is killed', async () => {
  const [survivor, victim] = await Promise.all([processes.start('dispatcher'), processes.start('dispatcher')]);
  await makeDeliveries();

  const memoryMb: number[] = [];
  let killedAt = 0;
  await until(
    async () => {
      const delivered = await countDelivered();
      if (delivered > DELIVERIES / 5) memoryMb.push(await readMemoryMb(survivor.pid));
      if (killedAt === 0 && delivered > DELIVERIES / 3) {
        await victim.kill9();
        killedAt = delivered;
      }
      await skipPauses();
      return delivered === DELIVERIES;
    },
    { timeoutMs: 240_000, what: 'every delivery is delivered', everyMs: 500 },
  );

  expect(killedAt).toBeLessThan(DELIVERIES);
  expect(seen.size).toBe(DELIVERIES);
  const all = [...seen.values()];
  expect(all.filter(({ acknowledged }) => acknowledged === 0)).toEqual([]);
  expect(all.filter(({ sha256 }) => sha256.size !== 1)).toEqual([]);
  expect(all.filter(({ signed }) => !signed)).toEqual([]);
  // The test is worth something only if many attempts failed.
  expect(all.reduce((sum, { arrivals }) => sum + arrivals, 0)).toBeGreaterThan(DELIVERIES * 1.3);
  const [early = 0] = memoryMb;
  expect(Math.max(...memoryMb) - early).toBeLessThan(GROWTH_ALLOWED_MB);
}, 300_000);
