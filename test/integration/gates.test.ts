import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import type { TestProcess } from '../support/processes.ts';
import { startOwnRedis, type OwnRedis } from '../support/redis.ts';
import { callApi, startService, type TestService } from '../support/service.ts';

let redis: OwnRedis;
let service: TestService;
let second: TestProcess;

beforeAll(async () => {
  redis = await startOwnRedis();
  service = await startService({ redisUrl: redis.url });
  second = await service.processes.start('api');
  // Nothing is captured here: what waits must go on waiting.
  await service.lane.stop();
}, 90_000);
afterAll(async () => {
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
  await service.close();
  await redis.close();
});

const SEARCH = { query: 'bicycles', surfaces: ['engine_news'] };

async function newcomer(credits: number, plan = 'pro'): Promise<string> {
  const { key } = await openKey(service.database.db, await openAccount(service.database.db, { credits, plan }));
  return key;
}

/** The same request so many times at once, in turns on both API processes. */
function burst(key: string, count: number, body: unknown = SEARCH) {
  const urls = [service.api.url, second.url];
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      callApi(urls[index % 2] ?? '', key, 'POST', '/v1/search?mode=async', body),
    ),
  );
}

it('lets 50 racing clients of two processes spend the last credits once', async () => {
  const answers = await burst(await newcomer(30), 50);
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(10);
  expect(answers.filter(({ status }) => status === 402)).toHaveLength(40);
});

it('makes one job of many identical posts at once on two processes, and charges one', async () => {
  const key = await newcomer(500, 'internal');
  const answers = await burst(key, 1_000, { ...SEARCH, idempotencyKey: 'only-once' });
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
  expect(new Set(answers.map(({ body }) => body.jobId)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(999);
  expect(answers[0]?.body.credits).toEqual({ creditsToCharge: 3, creditsCharged: 0 });
  const { body } = await callApi(service.api.url, key, 'GET', '/v1/usage');
  expect(body).toMatchObject({ balance: { total: 500, reserved: 3, available: 497 } });
}, 60_000);

it.each(['with Redis', 'without Redis'])(
  'counts submits of both processes together, %s',
  async (redisState) => {
    if (redisState === 'without Redis') await redis.stop();
    const answers = await burst(await newcomer(5_000, 'free'), 70);
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(60);
    expect(refused).toHaveLength(10);
    for (const { headers, body } of refused) {
      expect(body.code).toBe('RATE_LIMIT_EXCEEDED');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(headers.get('x-ratelimit-limit')).toBe('60');
      expect(headers.get('x-ratelimit-remaining')).toBe('0');
      expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000 - 1);
      expect(headers.get('x-concurrency-limit')).toBe('4');
      expect(headers.get('x-concurrency-running')).toBe('0');
      expect(Number(headers.get('x-concurrency-queued'))).toBeLessThanOrEqual(60);
    }
    if (redisState === 'without Redis') await redis.restart();
  },
  60_000,
);

it('refuses what the queue has no room for', async () => {
  const key = await newcomer(100_000, 'free');
  const items = (count: number) => ({ items: Array.from({ length: count }, () => SEARCH) });
  expect((await callApi(service.api.url, key, 'POST', '/v1/search/batch', items(500))).status).toBe(200);
  expect((await callApi(second.url, key, 'POST', '/v1/search/batch', items(499))).status).toBe(200);
  const full = await callApi(service.api.url, key, 'POST', '/v1/search/batch', items(2));
  expect(full).toMatchObject({ status: 429, body: { code: 'QUEUE_CAPACITY_EXCEEDED' } });
  expect(full.headers.get('retry-after')).not.toBeNull();
  expect(full.headers.get('x-concurrency-queued')).toBe('999');
  // What somebody waits for has a gate of its own: here it is let in, and only finds nobody who captures.
  const waited = { query: 'bicycles', surfaces: ['engine_news', 'engine_search'] };
  const inFlight = await callApi(service.api.url, key, 'POST', '/v1/search', waited, { prefer: 'wait=0' });
  expect(inFlight).toMatchObject({ status: 504, body: { code: 'SURFACE_TIMEOUT' } });
});

it('counts a submit that its key may not make', async () => {
  const { key } = await openKey(service.database.db, await openAccount(service.database.db), 'live', ['jobs:read']);
  const refuse = () => callApi(service.api.url, key, 'POST', '/v1/search', SEARCH);
  const [first, next] = [await refuse(), await refuse()];
  expect([first.status, next.status]).toEqual([403, 403]);
  const left = ({ headers }: typeof first) => Number(headers.get('x-ratelimit-remaining'));
  expect(left(next)).toBe(left(first) - 1);
});

it('refuses a fifth synchronous capture in flight on the free plan', async () => {
  const key = await newcomer(500, 'free');
  const waiting = Array.from({ length: 4 }, (_, index) =>
    callApi([service.api.url, second.url][index % 2] ?? '', key, 'POST', '/v1/search', SEARCH, { prefer: 'wait=4' }),
  );
  const status = () => callApi(service.api.url, key, 'GET', '/v1/async/status');
  for (let look = 0; look < 100; look += 1) {
    const { text } = await status();
    if (text.includes('"running":4')) break;
  }
  const fifth = await callApi(second.url, key, 'POST', '/v1/search', SEARCH);
  expect(fifth).toMatchObject({ status: 429, body: { code: 'CONCURRENCY_LIMIT_EXCEEDED' } });
  expect(fifth.headers.get('retry-after')).not.toBeNull();
  expect((await Promise.all(waiting)).map(({ body }) => body.code)).toEqual(Array(4).fill('SURFACE_TIMEOUT'));
}, 60_000);

it('answers a batch item by item, in order', async () => {
  const key = await newcomer(500);
  const { status, body } = await callApi(service.api.url, key, 'POST', '/v1/search/batch', {
    items: [
      SEARCH,
      { query: '', surfaces: ['engine_news'] },
      { query: 'q', surfaces: ['assistant_four'] },
      SEARCH,
      { ...SEARCH, webhook: { url: 'https://10.0.0.1/' } },
    ],
  });
  expect(status).toBe(200);
  expect(body.items).toMatchObject([
    { index: 0, status: 'accepted', credits: { creditsToCharge: 3, creditsCharged: 0 } },
    { index: 1, status: 'rejected', code: 'VALIDATION_FAILED' },
    { index: 2, status: 'rejected', code: 'UNSUPPORTED_METHOD_FOR_SURFACE' },
    { index: 3, status: 'accepted' },
    { index: 4, status: 'rejected', code: 'VALIDATION_FAILED', details: [{ path: 'items[4].webhook.url' }] },
  ]);
  const poor = await newcomer(5);
  const refused = await callApi(service.api.url, poor, 'POST', '/v1/search/batch', { items: [SEARCH, SEARCH] });
  expect(refused).toMatchObject({ status: 402, body: { code: 'INSUFFICIENT_CREDITS' } });
});

it('pages through jobs, newest first, without gaps or repeats', async () => {
  const key = await newcomer(500);
  const { body } = await callApi(service.api.url, key, 'POST', '/v1/search/batch', { items: Array(25).fill(SEARCH) });
  const made = body.items.map(({ jobId }) => jobId);
  const seen: string[] = [];
  let path = '/v1/jobs?limit=10&surface=engine_news&state=processing';
  for (;;) {
    const { body: page } = await callApi(service.api.url, key, 'GET', path);
    seen.push(...page.items.map(({ id }) => id));
    if (page.nextCursor === null) break;
    path = `/v1/jobs?limit=10&surface=engine_news&state=processing&cursor=${page.nextCursor}`;
  }
  expect(seen).toHaveLength(25);
  expect(new Set(seen)).toEqual(new Set(made));
  expect([...seen].sort().reverse()).toEqual(seen);
});
