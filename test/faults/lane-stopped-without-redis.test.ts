import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createAnnouncer, subscribe, type Announcer } from '../../pkg/queue/index.ts';
import { pause } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import { until } from '../support/poll.ts';
import { startOwnRedis, type OwnRedis } from '../support/redis.ts';
import { startService, type TestService } from '../support/service.ts';

/** Several times what stopping takes, and far below what a pod is given before it is killed. */
const SOON_MS = 15_000;
/** Longer than Redis is waited for when nothing is under way. */
const PAST_PATIENCE_MS = 4_000;
const log = createLog('test', 'silent');

let redis: OwnRedis;
let service: TestService;
let announcer: Announcer;

beforeAll(async () => {
  redis = await startOwnRedis();
  service = await startService({ redisUrl: redis.url });
  announcer = createAnnouncer({ url: redis.url, log });
}, 60_000);
afterAll(async () => {
  await announcer.close();
  await service.close();
  await redis.close();
});

const absences: { absence: string; leave: () => Promise<void>; comeBack: () => Promise<void> }[] = [
  {
    absence: 'does not answer',
    leave: () => {
      redis.freeze();
      return Promise.resolve();
    },
    comeBack: () => {
      redis.thaw();
      return Promise.resolve();
    },
  },
  { absence: 'is gone', leave: () => redis.kill9(), comeBack: () => redis.restart() },
];

it.each(absences)(
  'a lane stops soon, and in good order, while Redis $absence',
  async ({ leave, comeBack }) => {
    const lane = await service.startLane();
    await leave();
    try {
      const startedMs = performance.now();
      await lane.stop();
      expect(performance.now() - startedMs).toBeLessThan(SOON_MS);
      const logged = await lane.logs();
      expect(logged).toContain('"msg":"Stopped"');
      expect(logged).not.toContain('Could not release');
    } finally {
      await comeBack();
    }
  },
  90_000,
);

it.each(absences)(
  'a lane that is told to take no more obeys while Redis $absence',
  async ({ leave, comeBack }) => {
    const taken: string[] = [];
    const held = Promise.withResolvers<undefined>();
    const lane = subscribe(
      { url: redis.url, surface: 'assistant_four', concurrency: 2, log },
      async ({ captureId }) => {
        taken.push(captureId);
        await held.promise;
      },
    );
    try {
      await announceOne('first');
      await until(() => taken.includes('first'), { timeoutMs: 20_000, what: 'the first is taken' });
      await leave();
      let isPaused = false;
      const paused = lane.pause().then(() => (isPaused = true));
      const resumed = lane.resume();
      // The capture under way keeps the pod busy, whatever Redis does.
      await Promise.race([paused, pause(PAST_PATIENCE_MS)]);
      expect(isPaused).toBe(false);
      held.resolve(undefined);
      const startedMs = performance.now();
      await paused;
      expect(performance.now() - startedMs).toBeLessThan(SOON_MS);
      // Told to take again, and once more not to, before Redis is back.
      await resumed;
      await lane.pause();
      await lane.resume();
      await comeBack();
      await announceOne('second');
      await until(() => taken.includes('second'), { timeoutMs: 30_000, what: 'the second is taken' });
    } finally {
      await lane.close();
    }
  },
  120_000,
);

async function announceOne(captureId: string): Promise<void> {
  await until(
    () =>
      announcer.announce([{ captureId, surface: 'assistant_four', fence: 0, synchronous: false }]).then(
        () => true,
        () => false,
      ),
    { timeoutMs: 30_000, what: 'Redis takes the announcement' },
  );
}
