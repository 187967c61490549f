import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { query } from '../../pkg/postgres/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { until } from '../support/poll.ts';
import { startOwnRedis, type OwnRedis } from '../support/redis.ts';
import { startService, type TestService } from '../support/service.ts';

let redis: OwnRedis;
let service: TestService;

beforeAll(async () => {
  redis = await startOwnRedis();
  service = await startService({ redisUrl: redis.url, env: { ANNOUNCE_AGAIN_SECONDS: '2' } });
}, 60_000);
afterAll(async () => {
  await service.close();
  await redis.close();
});

it('captures all of 50 waiting searches although Redis was flushed', async () => {
  const items = Array.from({ length: 50 }, (_, index) => ({ query: `bicycle ${index}`, surfaces: ['engine_search'] }));
  const batch = await service.call('POST', '/v1/search/batch', { items });
  expect(batch.body.items.filter((item) => item.status === 'accepted')).toHaveLength(50);
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();

  const states = await until(
    async () => {
      const rows = await query<{ state: string; count: number }>(
        service.database.db.system,
        'SELECT state, count(*) AS count FROM captures GROUP BY state',
      );
      return rows.every(({ state }) => state !== 'queued' && state !== 'running') ? rows : undefined;
    },
    { timeoutMs: 90_000, what: 'all captures end', everyMs: 250 },
  );
  expect(states).toEqual([{ state: 'completed', count: 50 }]);
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
}, 120_000);

it('accepts searches while Redis is away and captures them when it is back', async () => {
  await redis.stop();
  const accepted = await service.call('POST', '/v1/search?mode=async', { query: 'later', surfaces: ['engine_news'] });
  expect(accepted.status).toBe(202);
  expect((await service.call('GET', '/v1/health?probe=deep')).body.bindings).toMatchObject({
    edgeCache: false,
    database: true,
  });
  await redis.restart();
  await until(
    async () => (await service.call('GET', `/v1/jobs/${accepted.body.jobId}`)).body.job.status === 'completed',
    {
      timeoutMs: 60_000,
      what: 'the search is captured',
    },
  );
}, 90_000);
