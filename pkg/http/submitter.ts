import type { Caller } from '../accounts/index.ts';
import type { Submitter } from '../searches/index.ts';
import type { ApiDeps } from './context.ts';

/** In whose name, and under which ceilings, a caller submits. Internal keys are unmetered (design, "Scopes"). */
export function submitterOf({ plans }: ApiDeps, caller: Caller): Submitter {
  const plan = plans.get(caller.plan);
  return {
    accountId: caller.accountId,
    metered: caller.mode !== 'internal',
    ceilings: { queued: plan.queuedChildren, syncInFlight: plan.syncInFlight },
  };
}
