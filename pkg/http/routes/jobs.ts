import { classifyJobId, flatten, parseJobQuery, ServiceError } from '../../contract/index.ts';
import { readChild, readParent } from '../../searches/index.ts';
import type { ApiDeps, Route } from '../context.ts';
import { withProofUrl } from '../proof-url.ts';

export function jobRoutes(deps: ApiDeps): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/jobs/:id',
      access: 'jobs:read',
      handle: async ({ request, response }, caller) => {
        const { view, includeHtml } = parseJobQuery(request.query);
        const id = String(request.params['id']);
        switch (classifyJobId(id)) {
          case 'neither':
            throw new ServiceError('JOB_NOT_FOUND');
          case 'parent':
            response.json(await readParent(deps.db, caller.accountId, id));
            return;
          case 'child': {
            const child = await readChild(deps.db, caller.accountId, id, includeHtml);
            if ('open' in child) response.json({ job: child.open, children: [] });
            else if (view === 'flat') response.json(flatten(child.ended));
            else response.json(withProofUrl(child.ended, child.proofKey, deps.publicBaseUrl));
          }
        }
      },
    },
  ];
}
