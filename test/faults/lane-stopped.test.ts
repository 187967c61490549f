import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { until } from '../support/poll.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
}, 60_000);
afterAll(() => service.close());

it('gives a capture that would take too long back to another lane when a lane is stopped', async () => {
  const accepted = await service.call('POST', '/v1/search?mode=async', {
    query: 'bicycles [[slow:14000]]',
    surfaces: ['assistant_one'],
  });
  const parent = () => service.call('GET', `/v1/jobs/${accepted.body.jobId}`);
  await until(async () => (await parent()).body.children[0]?.status === 'running', {
    timeoutMs: 20_000,
    what: 'it runs',
  });
  const stopped = service.lane.stop();
  await service.startLane();
  await stopped;

  await until(async () => (await parent()).body.job.status === 'completed', {
    timeoutMs: 60_000,
    what: 'the job ends',
  });
  const [childId = ''] = (await parent()).body.job.children;
  // Handed back, not lost: the lease of 30 s was not waited for.
  expect((await service.call('GET', `/v1/jobs/${childId}`)).body.job.attempts).toBe(2);
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
}, 120_000);
