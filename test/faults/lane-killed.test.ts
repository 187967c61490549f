import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { until } from '../support/poll.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { LEASE_SECONDS: '2', RETRY_BACKOFF_SECONDS: '0' } });
}, 60_000);
afterAll(() => service.close());

it('ends every capture once and charges it once when its lane is killed in the middle', async () => {
  const accepted = await service.call('POST', '/v1/search?mode=async', {
    query: 'bicycles [[slow:2000]]',
    surfaces: ['assistant_one', 'assistant_three', 'engine_ai_mode'],
  });
  expect(accepted.status).toBe(202);
  const parent = () => service.call('GET', `/v1/jobs/${accepted.body.jobId}`);
  await until(async () => (await parent()).body.children.some((child) => child.status === 'running'), {
    timeoutMs: 20_000,
    what: 'a capture runs',
  });
  await service.lane.kill9();
  await service.startLane();

  const done = await until(
    async () => {
      const { body } = await parent();
      return body.job.status === 'processing' ? undefined : body;
    },
    { timeoutMs: 60_000, what: 'the job ends' },
  );
  expect(done.job.status).toBe('completed');
  expect(done.credits).toEqual({ creditsToCharge: 13, creditsCharged: 13 });
  const children = await Promise.all(done.job.children.map((id) => service.call('GET', `/v1/jobs/${id}`)));
  expect(Math.max(...children.map(({ body }) => body.job.attempts))).toBe(2);
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
}, 100_000);
