import type { Caller } from '../../accounts/index.ts';
import { parseRunListQuery, parseWatchCreate, parseWatchListQuery, parseWatchUpdate } from '../../contract/index.ts';
import {
  cancelWatch,
  createWatch,
  listRuns,
  listWatches,
  readWatch,
  updateWatch,
  type WatchActor,
} from '../../watches/index.ts';
import type { ApiDeps, Exchange, Route } from '../context.ts';
import { sendJson, type Owner } from '../owner.ts';
import { toPage } from '../page.ts';

const BODY_LIMIT_BYTES = 2 * 1024 * 1024;

/** Saved searches on a schedule (spec 4.13). */
export function watchRoutes(deps: ApiDeps): Route[] {
  return [...readingRoutes(deps), ...changingRoutes(deps)];
}

function readingRoutes({ db }: ApiDeps): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/watches',
      access: 'watches:read',
      handle: async ({ request, response, owner }) => {
        const { limit, status, cursor } = parseWatchListQuery(request.query);
        const wanted = { accountId: owner.accountId, limit: limit + 1, status, after: cursor };
        sendJson(response, owner, toPage(await listWatches(db, wanted), limit));
      },
    },
    {
      method: 'get',
      path: '/v1/watches/:id',
      access: 'watches:read',
      handle: async ({ request, response, owner }) => {
        sendJson(response, owner, await readWatch(db, owner.accountId, watchIdOf(request)));
      },
    },
    {
      method: 'get',
      path: '/v1/watches/:id/runs',
      access: 'watches:read',
      handle: async ({ request, response, owner }) => {
        const { limit, cursor } = parseRunListQuery(request.query);
        const watchId = watchIdOf(request);
        const wanted = { accountId: owner.accountId, watchId, limit: limit + 1, after: cursor };
        sendJson(response, owner, toPage(await listRuns(db, wanted), limit));
      },
    },
  ];
}

function changingRoutes(deps: ApiDeps): Route[] {
  return [
    {
      method: 'post',
      path: '/v1/watches',
      access: 'watches:write',
      bodyLimitBytes: BODY_LIMIT_BYTES,
      handle: async ({ response, body, caller, owner }) => {
        const watch = await createWatch(deps, actorOf(deps, caller, owner), parseWatchCreate(body));
        response.status(201);
        sendJson(response, owner, { watch });
      },
    },
    {
      method: 'patch',
      path: '/v1/watches/:id',
      access: 'watches:write',
      bodyLimitBytes: BODY_LIMIT_BYTES,
      handle: async ({ request, response, body, caller, owner }) => {
        const change = parseWatchUpdate(body);
        const watch = await updateWatch(deps, actorOf(deps, caller, owner), watchIdOf(request), change);
        sendJson(response, owner, { watch });
      },
    },
    {
      method: 'delete',
      path: '/v1/watches/:id',
      access: 'watches:write',
      handle: async ({ request, response, caller, owner }) => {
        const watch = await cancelWatch(deps.db, actorOf(deps, caller, owner), watchIdOf(request));
        sendJson(response, owner, { watch });
      },
    },
  ];
}

function watchIdOf({ params }: Exchange['request']): string {
  return String(params['id']);
}

function actorOf({ plans }: ApiDeps, caller: Caller, { accountId }: Owner): WatchActor {
  return { accountId, metered: caller.mode !== 'internal', plan: plans.get(caller.plan), managedBy: null };
}
