import { classifyJobId, flatten, parseJobListQuery, parseJobQuery, ServiceError } from '../../contract/index.ts';
import { cancelSearch, listJobs, readChild, readParent } from '../../searches/index.ts';
import type { ApiDeps, Route } from '../context.ts';
import { sendJson } from '../owner.ts';
import { toPage } from '../page.ts';
import { withProofUrl } from '../proof-url.ts';

export function jobRoutes(deps: ApiDeps): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/jobs',
      access: 'jobs:read',
      handle: async ({ request, response, owner }) => {
        const { limit, state, surface, cursor } = parseJobListQuery(request.query);
        const rows = await listJobs(deps.db, {
          accountId: owner.accountId,
          limit: limit + 1,
          state,
          surface,
          after: cursor,
        });
        sendJson(response, owner, toPage(rows, limit));
      },
    },
    {
      method: 'get',
      path: '/v1/jobs/:id',
      access: 'jobs:read',
      handle: async ({ request, response, owner }) => {
        const { view, includeHtml } = parseJobQuery(request.query);
        const id = String(request.params['id']);
        switch (classifyJobId(id)) {
          case 'neither':
            throw new ServiceError('JOB_NOT_FOUND');
          case 'parent':
            sendJson(response, owner, await readParent(deps.db, owner.accountId, id));
            return;
          case 'child': {
            const child = await readChild(deps.db, owner.accountId, id, includeHtml);
            if ('open' in child) sendJson(response, owner, { job: child.open, children: [] });
            else if (view === 'flat') sendJson(response, owner, flatten(child.ended));
            else sendJson(response, owner, withProofUrl(child.ended, child.proofKey, deps.publicBaseUrl));
          }
        }
      },
    },
    {
      method: 'post',
      path: '/v1/jobs/:id/cancel',
      access: 'jobs:write',
      handle: async ({ request, response, owner }) => {
        const id = String(request.params['id']);
        if (classifyJobId(id) !== 'parent') throw new ServiceError('JOB_NOT_FOUND');
        const status = await cancelSearch(deps, owner.accountId, id);
        sendJson(response, owner, { job: { id, status } });
      },
    },
  ];
}
