import { Redis } from 'ioredis';
import type { Logger } from 'pino';

export type RedisOptions = { url: string; log: Logger };

/**
 * A connection for callers that must answer soon: a command that Redis does not answer fails in two seconds. It does
 * not queue commands while away, so a flood of them can't build up and be sent later.
 */
export function connectForCommands({ url, log }: RedisOptions): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 1,
    commandTimeout: 2_000,
    connectTimeout: 2_000,
    enableOfflineQueue: false,
    retryStrategy: backoff,
  });
  return logErrors(redis, log);
}

/** A connection for a worker: it waits for Redis for as long as it takes, until it is closed for good. */
export type WorkConnection = { redis: Redis; close(): void };

/**
 * Closes what the worker made of it, too, and for good: when Redis has not answered for a while BullMQ connects anew, and
 * would do so after the worker is closed.
 */
export function connectForWork({ url, log }: RedisOptions): WorkConnection {
  const disconnects: (() => void)[] = [];
  let isClosed = false;

  function own<R extends Redis>(redis: R): R {
    const connect = redis.connect.bind(redis);
    redis.connect = (callback) =>
      isClosed ? Promise.reject(new Error('The connection is closed')) : connect(callback);
    disconnects.push(() => redis.disconnect());
    return redis;
  }

  const redis = own(logErrors(new Redis(url, { maxRetriesPerRequest: null, retryStrategy: backoff }), log));
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (override) => own(duplicate(override));
  return {
    redis,
    close: () => {
      isClosed = true;
      for (const disconnect of disconnects) disconnect();
    },
  };
}

function backoff(times: number): number {
  return Math.min(times * 200, 2_000);
}

function logErrors(redis: Redis, log: Logger): Redis {
  redis.on('error', (error: Error) => log.warn({ err: error }, 'Redis connection failed'));
  return redis;
}
