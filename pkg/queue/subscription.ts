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
  /** Takes again, after a pause that was asked for has ended; also while Redis is away, as soon as it is back. */
  resume(): Promise<void>;
  /** Waits for what is under way, for as long as it takes: the caller aborts it first. Never waits for Redis for long. */
  close(): Promise<void>;
};

type SubscriptionOptions = { url: string; surface: string; concurrency: number; log: Logger };
type Take = (announcement: Announcement) => Promise<void>;

/** What Redis is given to hear that something has ended. It may be away, and BullMQ would wait for it for ever. */
const REDIS_TIMEOUT_MS = 3_000;

/**
 * Takes announcements of one surface, `concurrency` at a time. `take` may be called twice for one announcement, and for
 * one that is long out of date: it must claim in Postgres first.
 */
export function subscribe(options: SubscriptionOptions, take: Take): Subscription {
  let stop: (() => Promise<void>) | null = startTaking(options, take);
  let stopped = Promise.resolve();
  let isClosed = false;

  function pause(): Promise<void> {
    if (stop !== null) stopped = stop();
    stop = null;
    return stopped;
  }

  return {
    pause,
    resume: async () => {
      await stopped;
      if (!isClosed) stop ??= startTaking(options, take);
    },
    close: () => {
      isClosed = true;
      return pause();
    },
  };
}

/**
 * One worker on connections of its own, until the function returned has resolved. It is not used again after a pause, and
 * BullMQ is not asked to wait in `pause` or `close`: what it disconnects while Redis is away it waits for without an end,
 * or connects again after all is over.
 */
function startTaking({ url, surface, concurrency, log }: SubscriptionOptions, take: Take): () => Promise<void> {
  const connection = connectForWork({ url, log });
  const underWay = new Set<Promise<void>>();
  /** Whoever asked for the end was told that nothing can begin. */
  let isOver = false;

  const worker = new Worker<Announcement>(
    queueName(surface),
    async ({ data }) => {
      // Asked for before the end, and brought by a Redis that was away meanwhile. It is announced again.
      if (isOver) return;
      const taken = take(data);
      underWay.add(taken);
      await taken.finally(() => underWay.delete(taken));
    },
    // An idle worker asks Redis anew every second, and hears then that it is paused.
    {
      connection: connection.redis,
      concurrency,
      autorun: false,
      drainDelay: 1,
      stalledInterval: 15_000,
      lockDuration: 30_000,
    },
  );
  worker.on('error', (error) => log.warn({ err: error, surface }, 'Worker error'));
  worker.on('failed', (_job, error) => log.error({ err: error, surface }, 'Taking failed'));
  /** Resolves after a pause, when Redis was told of all that has ended, and what it was asked for has been taken. */
  const ran = worker.run();
  ran.catch((error: unknown) => log.error({ err: error, surface }, 'Taking ended'));

  async function endsSoon(work: Promise<void>, otherwise: string): Promise<boolean> {
    try {
      await withDeadline(work, REDIS_TIMEOUT_MS, 'Redis');
      return true;
    } catch (error) {
      log.warn({ err: error, surface }, otherwise);
      return false;
    }
  }

  return async () => {
    await worker.pause(true);
    do {
      await Promise.allSettled(underWay);
      isOver = await endsSoon(ran, 'Redis could not be told what has ended; it finds out by itself');
    } while (!isOver && underWay.size > 0);
    isOver = true;
    await endsSoon(worker.close(true), 'The queue was not closed in good order');
    connection.close();
  };
}
