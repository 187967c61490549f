import type { Redis } from 'ioredis';
import { RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Plan } from '../accounts/index.ts';
import type { Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';

const WINDOW_SECONDS = 60;

export type RateState = { limit: number; remaining: number; resetAtMs: number };

/** The gate of submits per minute, one count for an account whatever process it calls. */
export type RateGate = {
  /** Counts one submit; false when it is one too many. */
  pass(accountId: string, plan: Plan): Promise<{ passed: boolean; state: RateState }>;
  /** How the gate stands, uncounted. */
  look(accountId: string, plan: Plan): Promise<RateState>;
};

/** Counts in Redis; while Redis is away it counts in Postgres, so that the gate is neither open nor shut. */
export function createRateGate(deps: { redis: Redis; sql: Sql; clock: Clock }): RateGate {
  const limiters = new Map<string, RateLimiterRedis>();
  const limiterOf = (plan: Plan): RateLimiterRedis => {
    const known = limiters.get(plan.id);
    if (known !== undefined) return known;
    const common = { keyPrefix: `rate-${plan.id}`, points: plan.submitsPerMinute, duration: WINDOW_SECONDS };
    const insuranceLimiter = new RateLimiterPostgres({
      ...common,
      storeClient: deps.sql,
      storeType: 'knex',
      tableName: 'rate_limits',
      tableCreated: true,
      clearExpiredByTimeout: false,
    });
    // rejectIfRedisNotReady: a command queued for a Redis that is away would only be late.
    const limiter = new RateLimiterRedis({
      ...common,
      storeClient: deps.redis,
      insuranceLimiter,
      rejectIfRedisNotReady: true,
    });
    limiters.set(plan.id, limiter);
    return limiter;
  };
  const describe = (plan: Plan, count: RateLimiterRes | null): RateState => ({
    limit: plan.submitsPerMinute,
    remaining: Math.max(0, count?.remainingPoints ?? plan.submitsPerMinute),
    resetAtMs: deps.clock.nowMs() + (count?.msBeforeNext ?? WINDOW_SECONDS * 1000),
  });
  return {
    pass: async (accountId, plan) => {
      try {
        return { passed: true, state: describe(plan, await limiterOf(plan).consume(accountId)) };
      } catch (error) {
        // The library rejects with the count itself when there is none left.
        if (error instanceof RateLimiterRes) return { passed: false, state: describe(plan, error) };
        throw error;
      }
    },
    look: async (accountId, plan) => describe(plan, await limiterOf(plan).get(accountId)),
  };
}
