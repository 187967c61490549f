import type { Response } from 'express';
import type { Caller } from '../../accounts/index.ts';
import { ServiceError } from '../../contract/index.ts';
import { readLoad, type AccountLoad } from '../../credits/index.ts';
import type { ApiDeps } from '../context.ts';
import type { RateState } from '../rate-gate.ts';

/** Counts a submit before its body is read: whatever its outcome, it counts (design, "Gates"). */
export async function passRateGate(
  { rateGate, plans, clock }: ApiDeps,
  caller: Caller,
  response: Response,
): Promise<void> {
  const { passed, state } = await rateGate.pass(caller.accountId, plans.get(caller.plan));
  showRate(response, state);
  if (passed) return;
  const waitSeconds = Math.max(1, Math.ceil((state.resetAtMs - clock.nowMs()) / 1000));
  throw new ServiceError(
    'RATE_LIMIT_EXCEEDED',
    `The plan allows ${state.limit} submits a minute. Try again in ${waitSeconds} s.`,
    {
      headers: { 'Retry-After': String(waitSeconds) },
    },
  );
}

function showRate(response: Response, { limit, remaining, resetAtMs }: RateState): void {
  response.set({
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil(resetAtMs / 1000)),
  });
}

/** `Running` counts synchronous captures in flight, `Queued` all that wait (design, "Gates"). */
export function showConcurrency(
  response: Response,
  limit: number,
  load: Pick<AccountLoad, 'syncInFlight' | 'queued'>,
): void {
  response.set({
    'X-Concurrency-Limit': String(limit),
    'X-Concurrency-Running': String(load.syncInFlight),
    'X-Concurrency-Queued': String(load.queued),
  });
}

/** For metered keys: what this call charged, and what is left to spend. */
export function showCredits(
  response: Response,
  caller: Caller,
  charged: number,
  load: Pick<AccountLoad, 'balance' | 'held'>,
): void {
  if (caller.mode === 'internal') return;
  response.set({ 'X-Credits-Charged': String(charged), 'X-Credits-Remaining': String(load.balance - load.held) });
}

/** Reads the account's load and shows it; `charged` where the call tells what it charged. */
export async function showLoad(
  { db, plans }: ApiDeps,
  response: Response,
  caller: Caller,
  accountId: string,
  charged?: number,
): Promise<void> {
  const load = await db.readAsTenant(accountId, (sql) => readLoad(sql, accountId));
  showConcurrency(response, plans.get(caller.plan).syncInFlight, load);
  if (charged !== undefined) showCredits(response, caller, charged, load);
}
