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

/** A connection for workers: it waits for Redis for as long as it takes. */
export function connectForWork({ url, log }: RedisOptions): Redis {
  return logErrors(new Redis(url, { maxRetriesPerRequest: null, retryStrategy: backoff }), log);
}

function backoff(times: number): number {
  return Math.min(times * 200, 2_000);
}

function logErrors(redis: Redis, log: Logger): Redis {
  redis.on('error', (error: Error) => log.warn({ err: error }, 'Redis connection failed'));
  return redis;
}
