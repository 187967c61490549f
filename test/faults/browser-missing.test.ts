import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '../support/poll.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
}, 60_000);
afterAll(() => service.close());

it('says that a lane is unavailable when its browser does not start, and works again when it does', async () => {
  const search = () => service.call('POST', '/v1/search', { query: 'bicycles', surfaces: ['engine_news'] });
  expect((await search()).status).toBe(200);

  await service.lane.stop();
  await expect(service.processes.start('lane', { BROWSER_EXECUTABLE: '/bin/false' })).rejects.toThrow();
  const refused = await until(
    async () => {
      const answer = await search();
      return answer.status === 503 ? answer : undefined;
    },
    { timeoutMs: 10_000, what: 'the lane is known to be unavailable' },
  );
  expect(refused.body.code).toBe('DRIVER_UNAVAILABLE');

  await service.startLane();
  await until(async () => (await search()).status === 200, { timeoutMs: 20_000, what: 'the lane works again' });
}, 120_000);
