import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createKeyring } from '../../pkg/config/index.ts';
import { newId } from '../../pkg/contract/index.ts';
import { query, type Sql } from '../../pkg/postgres/index.ts';
import { LINE_BEGINS, readDue } from '../../pkg/webhooks/due.ts';
import { recordEnds } from '../../pkg/webhooks/ends.ts';
import { startDnsServer } from '../../pkg/webhooks/dns-for-tests.ts';
import { createDnsResolver } from '../../pkg/network/index.ts';
import {
  createDeliveryWorker,
  createGuard,
  createSecret,
  createSystemResolver,
  insertDelivery,
  listDeliveries,
  listSecrets,
  parseExtraDestinations,
  redeliver,
  requireDestination,
  resolveSigningSecret,
  rotateSecret,
  sealInlineSecret,
  verify,
  type DeliverySummary,
  type DeliveryWorker,
  type DeliveryWorkerOptions,
} from '../../pkg/webhooks/index.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/poll.ts';

const keyring = createKeyring(`k1:${randomBytes(32).toString('base64')}`);
const resolve = createSystemResolver({ timeoutMs: 2_000 });
const http = { totalTimeoutMs: 5_000, connectTimeoutMs: 2_000, maxResponseBytes: 16_384 };

let database: TestDatabase;
let sql: Sql;
const closers: (() => Promise<unknown>)[] = [];
/** Moved by tests; everything that is stored uses the database's clock. */
let aheadMs = 0;
const clock = { nowMs: () => Date.now() + aheadMs };

beforeAll(async () => {
  database = await openTestDatabase();
  sql = database.db.system;
});
afterAll(() => database.close());
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await sql.raw('TRUNCATE webhook_deliveries, webhook_queue, webhook_ends, webhook_lines');
});

type Received = { headers: IncomingHttpHeaders; body: string };

async function startReceiver(answer: RequestListener): Promise<{ origin: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      answer(request, response);
    });
  });
  await new Promise<void>((done, failed) => server.once('error', failed).listen(0, '127.0.0.1', done));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  return { origin: `http://127.0.0.1:${address.port}`, received };
}

function startWorker(origins: string[], options: Partial<DeliveryWorkerOptions> = {}): DeliveryWorker {
  const extras = parseExtraDestinations(origins.map((origin) => new URL(origin).host).join(','));
  const guard = createGuard({ extras, resolvePublic: resolve, resolveExtra: resolve });
  const log = pino({ level: 'silent' });
  const shared = { sql, holder: randomUUID(), keyring, guard, clock, random: () => 0.5, log, http };
  const worker = createDeliveryWorker({ ...shared, ...options });
  closers.push(() => worker.close());
  return worker;
}

async function makeAccount(): Promise<string> {
  const id = newId('acct', clock.nowMs());
  await query(sql, `INSERT INTO accounts (id, name, email, plan) VALUES (:id, 'test', :email, 'free')`, {
    id,
    email: `${id}@example.com`,
  });
  return id;
}

const maker = (accountId: string) => ({ accountId, keyring, clock, randomBytes });

type Made = { accountId: string; id: string; body: string };

async function makeDelivery(accountId: string, url: string, inlineSecret?: string): Promise<Made> {
  const searchId = newId('job', clock.nowMs());
  const id = newId('evt', clock.nowMs());
  const body = JSON.stringify({ id, text: 'Grüße 🦊' });
  await insertDelivery(sql, {
    id,
    accountId,
    captureId: `${searchId}.engine_search.us`,
    type: 'job.completed',
    url,
    secretCiphertext:
      inlineSecret === undefined ? null : sealInlineSecret(keyring, inlineSecret, { searchId, accountId }),
    body,
  });
  return { accountId, id, body };
}

async function makeSignedDelivery(url: string): Promise<Made & { secret: string }> {
  const accountId = await makeAccount();
  const { value } = await createSecret(sql, maker(accountId));
  return { ...(await makeDelivery(accountId, url)), secret: value };
}

async function read({ accountId, id }: { accountId: string; id: string }): Promise<DeliverySummary> {
  const found = (await listDeliveries(sql, { accountId, limit: 100 })).find((delivery) => delivery.id === id);
  if (found === undefined) throw new Error(`no delivery ${id}`);
  return found;
}

/** Lets the worker turn until the delivery has made `attempts` attempts and nothing runs. */
async function attempt(worker: DeliveryWorker, made: Made, attempts: number): Promise<DeliverySummary> {
  return until(
    async () => {
      await worker.deliverDue();
      const [row] = await query<{ free: boolean }>(
        sql,
        `SELECT attempts = :attempts AND next_attempt_at > now() AS free FROM webhook_queue WHERE delivery_id = :id
         UNION ALL SELECT attempts = :attempts FROM webhook_ends WHERE delivery_id = :id`,
        { id: made.id, attempts },
      );
      return row?.free === true && read(made);
    },
    { timeoutMs: 15_000, what: `attempt ${attempts} of ${made.id}` },
  );
}

async function turnUntil(worker: DeliveryWorker, condition: () => boolean, what: string): Promise<void> {
  await until(async () => (await worker.deliverDue(), condition()), { timeoutMs: 15_000, what });
}

async function makeDue({ id }: Made): Promise<void> {
  await query(sql, 'UPDATE webhook_queue SET next_attempt_at = now() WHERE delivery_id = :id', { id });
}

function msUntilNext({ nextAttemptAt }: DeliverySummary): number {
  return Date.parse(nextAttemptAt ?? '') - Date.now();
}

function isSignedBy(secret: string, { headers, body }: Received): boolean {
  const timestamp = String(headers['x-service-timestamp']);
  const signature = String(headers['x-service-signature']);
  return verify({ timestamp, signature, rawBody: body, secrets: [secret], nowSeconds: clock.nowMs() / 1000 });
}

describe('managed secrets', () => {
  it('are listed without their value', async () => {
    const accountId = await makeAccount();
    const { id, value } = await createSecret(sql, maker(accountId));
    expect(value).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
    const secrets = await listSecrets(sql, { accountId });
    expect(secrets).toMatchObject([{ id, status: 'active', expiresAt: null }]);
    expect(JSON.stringify(secrets)).not.toContain(value);
    expect(await resolveSigningSecret(sql, { accountId, keyring })).toBe(value);
  });

  it('are replaced by a rotation, and the old one retires until it ends', async () => {
    const accountId = await makeAccount();
    const old = await createSecret(sql, maker(accountId));
    const fresh = await rotateSecret(sql, maker(accountId));
    expect(await resolveSigningSecret(sql, { accountId, keyring })).toBe(fresh.value);
    const secrets = await listSecrets(sql, { accountId });
    expect(secrets.map(({ id, status }) => ({ id, status }))).toEqual([
      { id: fresh.id, status: 'active' },
      { id: old.id, status: 'retiring' },
    ]);
    const leftMs = Date.parse(secrets[1]?.expiresAt ?? '') - Date.now();
    expect(Math.abs(leftMs - 24 * 3_600_000)).toBeLessThan(60_000);

    await query(sql, 'UPDATE webhook_secrets SET expires_at = now() WHERE id = :id', { id: old.id });
    expect((await listSecrets(sql, { accountId })).map(({ id }) => id)).toEqual([fresh.id]);
  });

  it('never sign for another account', async () => {
    const [mine, other] = [await makeAccount(), await makeAccount()];
    const { id } = await createSecret(sql, maker(mine));
    await query(sql, 'UPDATE webhook_secrets SET account_id = :other WHERE id = :id', { other, id });
    await expect(resolveSigningSecret(sql, { accountId: other, keyring })).rejects.toMatchObject({
      code: 'WEBHOOK_SECRET_UNAVAILABLE',
    });
  });

  it.each(['there is none', 'the key ring lacks its key'])('are unavailable when %s', async (reason) => {
    const accountId = await makeAccount();
    if (reason !== 'there is none') await createSecret(sql, maker(accountId));
    const strange = createKeyring(`k2:${randomBytes(32).toString('base64')}`);
    await expect(resolveSigningSecret(sql, { accountId, keyring: strange })).rejects.toMatchObject({
      code: 'WEBHOOK_SECRET_UNAVAILABLE',
      status: 503,
    });
  });
});

describe('a delivery', () => {
  it('arrives with its exact bytes, signed by the managed secret', async () => {
    const { origin, received } = await startReceiver((_request, response) => response.end());
    const made = await makeSignedDelivery(`${origin}/hook`);
    const delivery = await attempt(startWorker([origin]), made, 1);
    expect(delivery).toMatchObject({ state: 'delivered', lastStatus: 200, lastError: null, nextAttemptAt: null });
    expect(delivery.deliveredAt).not.toBeNull();
    expect(received.map(({ body }) => body)).toEqual([made.body]);
    const [first] = received;
    expect(first?.headers).toMatchObject({ 'content-type': 'application/json', 'accept-encoding': 'identity' });
    expect(first !== undefined && isSignedBy(made.secret, first)).toBe(true);
  });

  it("is signed by the search's own secret where it has one", async () => {
    const { origin, received } = await startReceiver((_request, response) => response.end());
    const made = await makeDelivery(await makeAccount(), origin, 'my own secret');
    expect((await attempt(startWorker([origin]), made, 1)).state).toBe('delivered');
    expect(received.map((request) => isSignedBy('my own secret', request))).toEqual([true]);
  });

  it('is one for each capture', async () => {
    const accountId = await makeAccount();
    const delivery = {
      accountId,
      captureId: 'job_x.engine_search.us',
      type: 'job.completed' as const,
      url: 'https://hook.test/',
      secretCiphertext: null,
    };
    await insertDelivery(sql, { ...delivery, id: 'evt_first', body: 'first' });
    await insertDelivery(sql, { ...delivery, id: 'evt_second', body: 'second' });
    expect((await listDeliveries(sql, { accountId, limit: 10 })).map(({ id }) => id)).toEqual(['evt_first']);
  });

  it('is sent again with the same bytes and a fresh signature after a failure', async () => {
    const answers = [500, 200];
    const { origin, received } = await startReceiver((_request, response) =>
      response.writeHead(answers.shift() ?? 500).end(),
    );
    const made = await makeSignedDelivery(origin);
    const worker = startWorker([origin]);
    const failed = await attempt(worker, made, 1);
    expect(failed).toMatchObject({ state: 'pending', lastStatus: 500, lastError: 'the receiver answered 500' });
    expect(Math.abs(msUntilNext(failed) - 5_000)).toBeLessThan(2_000);

    aheadMs += 60_000;
    await makeDue(made);
    expect((await attempt(worker, made, 2)).state).toBe('delivered');
    expect(received.map(({ body }) => body)).toEqual([made.body, made.body]);
    const times = received.map(({ headers }) => Number(headers['x-service-timestamp']));
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(60);
    expect(received[1] !== undefined && isSignedBy(made.secret, received[1])).toBe(true);
  });

  it.each([
    { status: 503, retryAfter: '3600', nextMs: 3_600_000 },
    { status: 429, retryAfter: '1000000000', nextMs: 36_000_000 },
    { status: 429, retryAfter: '-1', nextMs: 5_000 },
  ])('waits as asked after $status with Retry-After $retryAfter', async ({ status, retryAfter, nextMs }) => {
    const { origin } = await startReceiver((_request, response) =>
      response.writeHead(status, { 'Retry-After': retryAfter }).end(),
    );
    const failed = await attempt(startWorker([origin]), await makeSignedDelivery(origin), 1);
    expect(Math.abs(msUntilNext(failed) - nextMs)).toBeLessThan(2_000);
  });

  it('ends for good on 410', async () => {
    const { origin } = await startReceiver((_request, response) => response.writeHead(410).end());
    expect(await attempt(startWorker([origin]), await makeSignedDelivery(origin), 1)).toMatchObject({
      state: 'gone',
      lastStatus: 410,
    });
  });

  it('does not follow a redirect', async () => {
    const target = await startReceiver((_request, response) => response.end());
    const { origin } = await startReceiver((_request, response) =>
      response.writeHead(302, { location: target.origin }).end(),
    );
    const made = await makeSignedDelivery(origin);
    expect(await attempt(startWorker([origin, target.origin]), made, 1)).toMatchObject({
      state: 'pending',
      lastStatus: 302,
    });
    expect(target.received).toEqual([]);
  });

  it('is dead after ten failures, and can be started over by hand', async () => {
    let status = 404;
    const { origin, received } = await startReceiver((_request, response) => response.writeHead(status).end());
    const made = await makeSignedDelivery(origin);
    const worker = startWorker([origin]);
    for (let attempts = 1; attempts <= 10; attempts += 1) {
      await makeDue(made);
      expect((await attempt(worker, made, attempts)).state).toBe(attempts < 10 ? 'pending' : 'dead');
    }
    await makeDue(made);
    expect(await worker.deliverDue()).toBe('idle');
    expect(received).toHaveLength(10);

    status = 200;
    expect(await redeliver(sql, made)).toMatchObject({ id: made.id, state: 'pending', attempts: 0 });
    expect((await attempt(worker, made, 1)).state).toBe('delivered');
    expect(received.every(({ body }) => body === made.body)).toBe(true);
  });

  it.each([
    { url: 'https://10.0.0.1/', error: /^refused/ },
    { url: 'https://no-such-host.invalid/', error: /^unresolved/ },
    { url: 'http://127.0.0.1:9/', error: /^refused/ },
  ])('to $url is a failed attempt', async ({ url, error }) => {
    const delivery = await attempt(startWorker([]), await makeSignedDelivery(url), 1);
    expect(delivery).toMatchObject({ state: 'pending', lastStatus: null });
    expect(delivery.lastError).toMatch(error);
  });

  it('is not sent unsigned when its secret is unavailable', async () => {
    const { origin, received } = await startReceiver((_request, response) => response.end());
    const made = await makeDelivery(await makeAccount(), origin);
    expect(await attempt(startWorker([origin]), made, 1)).toMatchObject({
      state: 'pending',
      lastError: 'the signing secret is unavailable',
    });
    expect(received).toEqual([]);
  });

  it('is not changed by a worker that read it before others did', async () => {
    const made = await makeSignedDelivery('https://hook.test/');
    const readIt = async () => {
      const [delivery] = await readDue(sql, [{ accountId: made.accountId, after: LINE_BEGINS, most: 1 }], []);
      if (delivery === undefined) throw new Error('nothing is due');
      return delivery;
    };
    const stale = await readIt();
    const failed = { state: 'pending', status: 500, error: 'the receiver answered 500', pauseMs: 0 } as const;
    expect(await recordEnds(sql, [{ delivery: await readIt(), end: failed }])).toEqual(new Set());
    const current = await readIt();
    expect(current.attempts).toBe(1);
    const gone = { state: 'gone', status: 410, error: null } as const;
    expect(await recordEnds(sql, [{ delivery: stale, end: gone }])).toEqual(new Set([made.id]));
    const delivered = { state: 'delivered', status: 200, error: null } as const;
    expect(await recordEnds(sql, [{ delivery: current, end: delivered }])).toEqual(new Set());
    expect(await read(made)).toMatchObject({ state: 'delivered', attempts: 2 });

    await redeliver(sql, made);
    expect(await recordEnds(sql, [{ delivery: stale, end: failed }])).toEqual(new Set([made.id]));
    expect(await read(made)).toMatchObject({ state: 'pending', attempts: 0 });
  });
});

describe('a name that leads elsewhere by the time of the attempt', () => {
  it('gets nothing sent to where it leads now', async () => {
    const inside = await startReceiver((_request, response) => response.end());
    const dns = await startDnsServer([['8.8.8.8'], ['127.0.0.1']]);
    closers.push(() => dns.close());
    const resolvePublic = createDnsResolver({ timeoutMs: 2_000, servers: [dns.server] });
    const guard = createGuard({ extras: [], resolvePublic, resolveExtra: resolve });
    await expect(requireDestination(guard, 'https://hook.test/', 'webhook.url')).resolves.toBeUndefined();
    const made = await makeSignedDelivery('https://hook.test/');
    const delivery = await attempt(startWorker([], { guard }), made, 1);
    expect(delivery).toMatchObject({ state: 'pending', lastStatus: null });
    expect(delivery.lastError).toMatch(/^refused: .*not public \(loopback\)/);
    expect(inside.received).toEqual([]);
  });
});

describe('a delivery worker', () => {
  it('makes no more attempts at once for one account than allowed, with another worker beside it', async () => {
    const { origin, received } = await startReceiver(() => undefined);
    const { accountId } = await makeSignedDelivery(origin);
    for (let i = 0; i < 20; i += 1) await makeDelivery(accountId, origin);
    const workers = [1, 2].map(() => startWorker([origin], { perAccount: 3 }));
    for (let turn = 0; turn < 3; turn += 1) await Promise.all(workers.map((worker) => worker.deliverDue()));
    await until(() => received.length >= 3, { timeoutMs: 5_000, what: 'the allowed ones' });
    for (let turn = 0; turn < 2; turn += 1) await Promise.all(workers.map((worker) => worker.deliverDue()));
    expect(received).toHaveLength(3);
  });

  it('keeps room for the next account while many receivers are slow', async () => {
    const slow = await startReceiver(() => undefined);
    const quick = await startReceiver((_request, response) => response.end());
    for (let index = 0; index < 20; index += 1) {
      const { accountId } = await makeSignedDelivery(slow.origin);
      for (let i = 0; i < 20; i += 1) await makeDelivery(accountId, slow.origin);
    }
    // 420 deliveries that hang, and room for 128.
    const worker = startWorker([slow.origin, quick.origin], {
      concurrency: 128,
      perAccount: 16,
      http: { ...http, totalTimeoutMs: 30_000 },
    });
    for (let turn = 0; turn < 5; turn += 1) await worker.deliverDue();
    const made = await makeSignedDelivery(quick.origin);
    const startedMs = performance.now();
    expect((await attempt(worker, made, 1)).state).toBe('delivered');
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  });

  it('does not let a slow receiver of one account delay another account', async () => {
    const slow = await startReceiver(() => undefined);
    const quick = await startReceiver((_request, response) => response.end());
    const worker = startWorker([slow.origin, quick.origin], { concurrency: 32, perAccount: 4 });
    const { accountId } = await makeSignedDelivery(slow.origin);
    for (let i = 0; i < 30; i += 1) await makeDelivery(accountId, slow.origin);
    await turnUntil(worker, () => slow.received.length === 4, 'all slots of the slow one are taken');

    const made = await makeSignedDelivery(quick.origin);
    const startedMs = performance.now();
    expect((await attempt(worker, made, 1)).state).toBe('delivered');
    expect(performance.now() - startedMs).toBeLessThan(http.totalTimeoutMs / 2);
    expect(slow.received.length).toBeLessThanOrEqual(4);
  });

  it('shares the work with another one without sending anything twice', async () => {
    const { origin, received } = await startReceiver((_request, response) => response.end());
    const { accountId } = await makeSignedDelivery(origin);
    for (let i = 0; i < 40; i += 1) await makeDelivery(accountId, origin);
    const workers = [startWorker([origin]), startWorker([origin])];
    await until(
      async () => {
        await Promise.all(workers.map((worker) => worker.deliverDue()));
        return (await listDeliveries(sql, { accountId, limit: 100 })).every(({ state }) => state === 'delivered');
      },
      { timeoutMs: 20_000, what: 'all deliveries' },
    );
    expect(new Set(received.map(({ body }) => body)).size).toBe(41);
    expect(received).toHaveLength(41);
  });

  it('makes the deliveries to a broken destination wait, without counting attempts', async () => {
    const { origin, received } = await startReceiver((_request, response) => response.writeHead(500).end());
    const { accountId } = await makeSignedDelivery(origin);
    for (let i = 0; i < 19; i += 1) await makeDelivery(accountId, origin);
    const worker = startWorker([origin], { concurrency: 1 });
    await until(
      async () => {
        await worker.deliverDue();
        const [due] = await query<{ count: number }>(
          sql,
          'SELECT count(*) AS count FROM webhook_queue WHERE next_attempt_at <= now()',
        );
        return due?.count === 0;
      },
      { timeoutMs: 15_000, what: 'every delivery tried or put off' },
    );
    const deliveries = await listDeliveries(sql, { accountId, limit: 100 });
    expect(deliveries.every(({ state }) => state === 'pending')).toBe(true);
    expect(deliveries.filter(({ attempts }) => attempts === 0).length).toBeGreaterThanOrEqual(9);
    expect(received.length).toBeLessThanOrEqual(11);
  });

  it('writes what it could not write as soon as it can, and sends nothing twice for it', async () => {
    const { origin, received } = await startReceiver((_request, response) => response.end());
    const made = await makeSignedDelivery(origin);
    const worker = startWorker([origin]);
    await sql.raw('ALTER TABLE webhook_ends RENAME TO ends_that_are_away');
    try {
      await turnUntil(worker, () => received.length === 1, 'the request');
      expect(await worker.deliverDue()).toBe('more');
    } finally {
      await sql.raw('ALTER TABLE ends_that_are_away RENAME TO webhook_ends');
    }
    expect((await attempt(worker, made, 1)).state).toBe('delivered');
    expect(received).toHaveLength(1);
  });

  it('gives what it runs back uncounted when it closes', async () => {
    const { origin, received } = await startReceiver(() => undefined);
    const made = await makeSignedDelivery(origin);
    const worker = startWorker([origin]);
    await turnUntil(worker, () => received.length === 1, 'the request');
    await worker.close();
    expect(await read(made)).toMatchObject({ state: 'pending', attempts: 0 });
    expect(await worker.deliverDue()).toBe('idle');
  });
});

describe('the list of deliveries', () => {
  it('pages through the own ones, newest first', async () => {
    const accountId = await makeAccount();
    await makeSignedDelivery('https://hook.test/');
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.push((await makeDelivery(accountId, 'https://hook.test/')).id);
    const pages: DeliverySummary[] = [];
    for (;;) {
      const page = await listDeliveries(sql, { accountId, limit: 2, after: pages.at(-1) ?? null });
      if (page.length === 0) break;
      pages.push(...page);
    }
    expect(pages).toHaveLength(5);
    expect(new Set(pages.map(({ id }) => id))).toEqual(new Set(made));
  });
});
