import { Worker } from 'bullmq';
import type { Logger } from 'pino';
import { withDeadline } from '../runtime/index.ts';
import { queueName, type Announcement } from './announcements.ts';
import { connectForWork } from './connection.ts';

export type Subscription = {
  /**
   * Takes nothing more; resolves when what is under way has ended, and nothing can begin: also while Redis is away,
   * a few seconds later.
   */
  pause(): Promise<void>;
  /** Takes again, after `pause` has resolved. Rejects when Redis does not come back within a few seconds. */
  resume(): Promise<void>;
  /** Waits for what is under way, for as long as it takes: the caller aborts it first. Never waits for Redis for long. */
  close(): Promise<void>;
};

/** What Redis is given to hear that something has ended. It may be away, and BullMQ would wait for it for ever. */
const REDIS_TIMEOUT_MS = 3_000;

/**
 * Takes announcements of one surface, `concurrency` at a time. `take` may be called twice for one announcement, and for
 * one that is long out of date: it must claim in Postgres first.
 */
export function subscribe(
  options: { url: string; surface: string; concurrency: number; log: Logger },
  take: (announcement: Announcement) => Promise<void>,
): Subscription {
  const { surface, log } = options;
  const redis = connectForWork(options);
  const underWay = new Set<Promise<void>>();
  let pausing: Promise<void> | null = null;
  /** Whoever asked for the pause was told that nothing can begin. */
  let isPaused = false;

  const worker = new Worker<Announcement>(
    queueName(surface),
    async ({ data }) => {
      // Asked for before the pause, and brought by a Redis that was away meanwhile. It is announced again.
      if (isPaused) return;
      const taken = take(data);
      underWay.add(taken);
      await taken.finally(() => underWay.delete(taken));
    },
    {
      connection: redis,
      concurrency: options.concurrency,
      drainDelay: 2,
      stalledInterval: 15_000,
      lockDuration: 30_000,
    },
  );
  worker.on('error', (error) => log.warn({ err: error, surface }, 'Worker error'));
  worker.on('failed', (_job, error) => log.error({ err: error, surface }, 'Taking failed'));

  async function stopTaking(): Promise<void> {
    try {
      await worker.pause();
    } catch (error) {
      log.warn({ err: error, surface }, 'The connection that takes was not closed in good order');
    }
  }

  async function pause(): Promise<void> {
    pausing ??= stopTaking();
    while (!isPaused) {
      await Promise.allSettled(underWay);
      isPaused = await endsSoon(pausing);
      if (isPaused || underWay.size > 0) continue;
      log.warn({ surface }, 'Redis could not be told what has ended; it finds out by itself');
      isPaused = true;
    }
  }

  return {
    pause,
    resume: async () => {
      // Two main loops of one worker would be in each other's way.
      if (pausing !== null && !(await endsSoon(pausing))) throw new Error('Redis is away');
      pausing = null;
      isPaused = false;
      await withDeadline(worker.resume(), REDIS_TIMEOUT_MS, 'taking again');
    },
    close: async () => {
      await pause();
      // By force: all that it would wait for has ended, or waits for a Redis that is away.
      await withDeadline(worker.close(true), REDIS_TIMEOUT_MS, 'closing the queue');
      redis.disconnect();
    },
  };
}

async function endsSoon(work: Promise<void>): Promise<boolean> {
  try {
    await withDeadline(work, REDIS_TIMEOUT_MS, 'Redis');
    return true;
  } catch {
    return false;
  }
}
