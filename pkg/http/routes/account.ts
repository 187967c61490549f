import type { Plan } from '../../accounts/index.ts';
import { readLoad, readUsage } from '../../credits/index.ts';
import { listSecrets } from '../../webhooks/index.ts';
import type { ApiDeps, Route } from '../context.ts';
import { sendJson } from '../owner.ts';

/** What an account may read of itself: usage, headroom, signing secrets. */
export function accountRoutes(deps: ApiDeps): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/usage',
      access: 'usage:read',
      handle: async ({ response, owner }) => {
        const { usage, balance } = await readUsage(deps.db, owner.accountId, deps.clock.nowMs());
        sendJson(response, owner, { plan: describePlan(deps.plans.get(owner.plan)), usage, balance });
      },
    },
    {
      method: 'get',
      path: '/v1/async/status',
      access: 'jobs:read',
      handle: async ({ response, caller, owner }) => {
        const plan = deps.plans.get(caller.plan);
        const [load, rate] = await Promise.all([
          deps.db.readAsTenant(owner.accountId, (sql) => readLoad(sql, owner.accountId)),
          deps.rateGate.look(caller.accountId, plan),
        ]);
        sendJson(response, owner, {
          rate: { limit: rate.limit, remaining: rate.remaining, resetAt: new Date(rate.resetAtMs).toISOString() },
          concurrency: { limit: plan.syncInFlight, running: load.syncInFlight },
          queue: { limit: plan.queuedChildren, queued: load.queued, running: load.running },
        });
      },
    },
    {
      method: 'get',
      path: '/v1/webhooks/secrets',
      access: 'webhooks:read',
      missingAuthorization: 'AUTH_MISSING',
      handle: async ({ response, owner }) => {
        const secrets = await deps.db.asTenant(owner.accountId, (sql) =>
          listSecrets(sql, { accountId: owner.accountId }),
        );
        sendJson(response, owner, { secrets });
      },
    },
  ];
}

function describePlan({ id, ...limits }: Plan): { id: string; limits: Omit<Plan, 'id'> } {
  return { id, limits };
}
