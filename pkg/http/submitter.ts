import type { Caller } from '../accounts/index.ts';
import type { Submitter } from '../searches/index.ts';
import type { ApiDeps } from './context.ts';
import type { Owner } from './owner.ts';

/** In whose name, and under which ceilings, a caller submits. Internal keys are unmetered (design, "Scopes"). */
export function submitterOf({ plans }: ApiDeps, caller: Caller, owner: Owner): Submitter {
  const plan = plans.get(caller.plan);
  return {
    accountId: owner.accountId,
    metered: caller.mode !== 'internal',
    ceilings: { queued: plan.queuedChildren, syncInFlight: plan.syncInFlight },
  };
}
