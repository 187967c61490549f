import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKeyring } from '../../pkg/config/index.ts';
import { newId, type DeliveryType } from '../../pkg/contract/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createSecret, insertDelivery, type DeliverySummary } from '../../pkg/webhooks/index.ts';
import { openAccount, openKey, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { endDelivery } from '../support/deliveries.ts';
import { until } from '../support/poll.ts';
import { openTestProcesses, type TestProcess, type TestProcesses } from '../support/processes.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { findEmptyRedis } from '../support/redis.ts';
import { accept } from '../support/searches.ts';
import { callApi, type Answer } from '../support/service.ts';

const KEYRING = `k1:${randomBytes(32).toString('base64')}`;

type Tenant = { accountId: string; key: string };

let database: TestDatabase;
let processes: TestProcesses;
let api: TestProcess;
let receiver: Receiver;
let tenant: Tenant;
let other: Tenant;
let status = 200;

beforeAll(async () => {
  database = await openTestDatabase();
  receiver = await startReceiver((response) => response.writeHead(status).end());
  processes = await openTestProcesses({
    DATABASE_URL: database.url,
    REDIS_URL: await findEmptyRedis(),
    API_KEY_PEPPER: TEST_PEPPER,
    SECRETS_KEYRING: KEYRING,
    WEBHOOK_EXTRA_DESTINATIONS: receiver.hostAndPort,
  });
  [tenant, other] = await Promise.all([openTenant(), openTenant()]);
  [api] = await Promise.all([processes.start('api'), processes.start('dispatcher')]);
}, 90_000);
afterAll(async () => {
  await processes.close();
  await receiver.close();
  await database.close();
});

async function openTenant(): Promise<Tenant> {
  const accountId = await openAccount(database.db);
  const keyring = createKeyring(KEYRING);
  await createSecret(database.db.system, { accountId, keyring, clock: systemClock, randomBytes });
  return { accountId, key: (await openKey(database.db, accountId)).key };
}

type Made = { id: string; childId: string; body: string };

/** A delivery of a search that exists; `state` is what the dispatcher finds. */
async function makeDelivery(
  { accountId }: Tenant,
  {
    type = 'job.completed',
    state = 'delivered',
  }: { type?: DeliveryType; state?: 'delivered' | 'dead' | 'pending' } = {},
): Promise<Made> {
  const { jobId } = await accept(database.db, accountId, { surfaces: ['engine_news'] });
  const made = { id: newId('evt', Date.now()), childId: `${jobId}.engine_news.GLOBAL` };
  const body = JSON.stringify({ id: made.id, text: 'Grüße 🦊' });
  const target = { accountId, captureId: made.childId, type, url: `${receiver.origin}/hook`, secretCiphertext: null };
  // One transaction: the dispatcher must not see it before it is in its state.
  await database.db.inTransaction(async (sql) => {
    await insertDelivery(sql, { ...target, id: made.id, body });
    await query(
      sql,
      `UPDATE webhook_queue SET attempts = 1, next_attempt_at = now() + interval '1 hour' WHERE delivery_id = :id`,
      { id: made.id },
    );
    if (state !== 'pending') await endDelivery(sql, made.id, { state });
  });
  return { ...made, body };
}

const list = (filter: string, key = tenant.key) =>
  callApi(api.url, key, 'GET', `/v1/webhooks/deliveries${filter === '' ? '' : `?${filter}`}`);
const redeliver = (id: string, key = tenant.key, headers = {}) =>
  callApi(api.url, key, 'POST', `/v1/webhooks/deliveries/${id}/redeliver`, undefined, headers);

function deliveriesOf({ text }: Answer): DeliverySummary[] {
  const body: unknown = JSON.parse(text);
  if (!hasItems(body)) throw new Error(`no list: ${text}`);
  return body.items;
}

/** That the items are what they should be, callApi has checked against the OpenAPI document. */
function hasItems(body: unknown): body is { items: DeliverySummary[] } {
  return typeof body === 'object' && body !== null && 'items' in body;
}

const idsOf = (answer: Answer) => deliveriesOf(answer).map(({ id }) => id);

async function readState(id: string): Promise<string | undefined> {
  const [row] = await query<{ state: string }>(
    database.db.system,
    `SELECT state FROM webhook_ends WHERE delivery_id = :id
     UNION ALL SELECT 'pending' FROM webhook_queue WHERE delivery_id = :id`,
    { id },
  );
  return row?.state;
}

describe('the log of deliveries', () => {
  it('pages newest first, without gaps or repeats while new ones come', async () => {
    const mine = await openTenant();
    const made: string[] = [];
    for (let index = 0; index < 7; index += 1) made.unshift((await makeDelivery(mine)).id);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Answer = await list(`limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`, mine.key);
      expect(page.status).toBe(200);
      seen.push(...idsOf(page));
      cursor = page.body.nextCursor;
      await makeDelivery(mine);
    }
    expect(seen).toEqual(made);
  });

  it('tells what became of each, and neither body nor secret', async () => {
    const made = await makeDelivery(tenant, { state: 'dead', type: 'job.failed' });
    const answer = await list('state=dead');
    expect(deliveriesOf(answer)).toEqual([
      {
        id: made.id,
        type: 'job.failed',
        jobId: made.childId.split('.')[0],
        childId: made.childId,
        url: `${receiver.origin}/hook`,
        state: 'dead',
        attempts: 1,
        nextAttemptAt: null,
        lastStatus: null,
        lastError: null,
        createdAt: expect.any(String),
        deliveredAt: null,
      },
    ]);
    expect(answer.text).not.toContain('Grüße');
  });

  it('is narrowed by state, event and job, alone and together', async () => {
    const mine = await openTenant();
    const done = await makeDelivery(mine);
    const failed = await makeDelivery(mine, { type: 'job.failed' });
    const waiting = await makeDelivery(mine, { type: 'job.failed', state: 'pending' });
    const [jobId = ''] = failed.childId.split('.');
    const cases = [
      { filter: '', ids: [waiting.id, failed.id, done.id] },
      { filter: 'state=delivered', ids: [failed.id, done.id] },
      { filter: 'type=job.failed', ids: [waiting.id, failed.id] },
      { filter: 'type=job.failed&state=pending', ids: [waiting.id] },
      { filter: `jobId=${jobId}`, ids: [failed.id] },
      { filter: `jobId=${failed.childId}`, ids: [failed.id] },
      { filter: `jobId=${jobId}&state=dead`, ids: [] },
      { filter: `jobId=${newId('job', 0)}`, ids: [] },
    ];
    for (const { filter, ids } of cases) expect([filter, idsOf(await list(filter, mine.key))]).toEqual([filter, ids]);
  });

  it.each([
    { filter: 'state=open', words: ['state', 'pending, delivered, dead, gone'] },
    { filter: 'type=completed', words: ['type', 'job.completed'] },
    { filter: 'jobId=42', words: ['jobId', 'parent or child'] },
    { filter: 'jobId=a&jobId=b', words: ['jobId'] },
    { filter: 'limit=101', words: ['limit', '1 to 100'] },
    { filter: 'cursor=nonsense', words: ['cursor'] },
  ])('refuses $filter and says what is allowed', async ({ filter, words }) => {
    const { status: code, body } = await list(filter);
    expect({ code, body }).toMatchObject({ code: 400, body: { code: 'VALIDATION_FAILED' } });
    for (const word of words) expect(body.error).toContain(word);
  });

  it('shows nothing of another tenant, whatever is asked for', async () => {
    const { childId } = await makeDelivery(tenant);
    for (const filter of ['', `jobId=${childId}`, `owner=${tenant.accountId}`])
      expect(idsOf(await list(filter, other.key))).toEqual([]);
  });

  it('is read for the owner that an internal key names', async () => {
    const { id, childId } = await makeDelivery(tenant);
    const { key } = await openKey(database.db, other.accountId, 'internal');
    const answer = await list(`owner=${tenant.accountId}&jobId=${childId}`, key);
    expect(idsOf(answer)).toEqual([id]);
    expect(answer.body.owner).toBe(tenant.accountId);
    expect(answer.headers.get('x-service-owner')).toBe(tenant.accountId);
  });
});

describe('sending a delivery again', () => {
  const sentTo = (made: Made) => receiver.received.filter(({ body }) => body === made.body).length;

  it.each(['delivered', 'dead', 'pending'] as const)('brings the same bytes of a %s one once more', async (state) => {
    const made = await makeDelivery(tenant, { state });
    const answer = await redeliver(made.id);
    expect(answer.status).toBe(202);
    expect(JSON.parse(answer.text)).toMatchObject({ delivery: { id: made.id, state: 'pending', attempts: 0 } });
    await until(() => sentTo(made) > 0, { timeoutMs: 20_000, what: 'it arrives' });
    await until(async () => (await readState(made.id)) === 'delivered', { timeoutMs: 20_000, what: 'it is recorded' });
    expect(sentTo(made)).toBe(1);
  });

  it('sends once when it is asked for many times at once', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => makeDelivery(tenant)));
    const answers = await Promise.all(made.flatMap(({ id }) => Array.from({ length: 8 }, () => redeliver(id))));
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]));
    await until(() => made.every((one) => sentTo(one) > 0), { timeoutMs: 20_000, what: 'all arrive' });
    await until(async () => (await Promise.all(made.map(({ id }) => readState(id)))).every((s) => s === 'delivered'), {
      timeoutMs: 20_000,
      what: 'all are recorded',
    });
    expect(made.map(sentTo)).toEqual([1, 1, 1, 1, 1]);
  });

  it('has all attempts before it again', async () => {
    status = 500;
    const made = await makeDelivery(tenant, { state: 'dead' });
    await redeliver(made.id);
    const tried = await until(
      async () => deliveriesOf(await list(`jobId=${made.childId}`)).find(({ lastError }) => lastError !== null),
      { timeoutMs: 20_000, what: 'a failed attempt' },
    );
    status = 200;
    expect(tried).toMatchObject({
      state: 'pending',
      attempts: 1,
      lastStatus: 500,
      lastError: 'the receiver answered 500',
    });
  });

  it('is not for a key that only reads, which is told what it may call', async () => {
    const made = await makeDelivery(tenant);
    const reader = await openKey(database.db, tenant.accountId, 'live', ['webhooks:read', 'jobs:read']);
    const answer = await redeliver(made.id, reader.key);
    expect(answer).toMatchObject({ status: 403, body: { code: 'SCOPE_FORBIDDEN' } });
    expect(answer.body.error).toContain('GET /v1/webhooks/deliveries');
    expect(await readState(made.id)).toBe('delivered');
    expect(sentTo(made)).toBe(0);
    expect((await list('', reader.key)).status).toBe(200);
    const writer = await openKey(database.db, tenant.accountId, 'live', ['jobs:write']);
    expect((await list('', writer.key)).status).toBe(403);
  });

  it.each([
    ['of another tenant', async () => (await makeDelivery(other)).id],
    ['that does not exist', () => Promise.resolve(newId('evt', 0))],
    ['whose id is none', () => Promise.resolve('evt_%00')],
  ])('does not know one %s', async (_, idOf) => {
    const id = await idOf();
    expect(await redeliver(id)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    expect(await redeliver(id, tenant.key, { 'x-service-on-behalf-of': other.accountId })).toMatchObject({
      status: 404,
    });
  });

  it('is done for the owner that an internal key names, and only for one that exists', async () => {
    const made = await makeDelivery(tenant);
    const { key } = await openKey(database.db, other.accountId, 'internal');
    expect((await redeliver(made.id, key)).status).toBe(404);
    const answer = await redeliver(made.id, key, { 'x-service-on-behalf-of': tenant.accountId });
    expect(answer).toMatchObject({ status: 202, body: { owner: tenant.accountId } });
    const nobody = await redeliver(made.id, key, { 'x-service-on-behalf-of': 'acct_nobody' });
    expect(nobody).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });
});
