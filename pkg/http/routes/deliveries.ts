import { isId, parseDeliveryListQuery, ServiceError } from '../../contract/index.ts';
import { listDeliveries, redeliver } from '../../webhooks/index.ts';
import type { ApiDeps, Route } from '../context.ts';
import { sendJson } from '../owner.ts';
import { toPage } from '../page.ts';

/** The log of webhook deliveries, and sending one again. */
export function deliveryRoutes({ db }: ApiDeps): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/webhooks/deliveries',
      access: 'webhooks:read',
      handle: async ({ request, response, owner }) => {
        const { limit, cursor, ...filter } = parseDeliveryListQuery(request.query);
        const { accountId } = owner;
        const wanted = { ...filter, accountId, after: cursor, limit: limit + 1 };
        const rows = await db.readAsTenant(accountId, (sql) => listDeliveries(sql, wanted));
        sendJson(response, owner, toPage(rows, limit));
      },
    },
    {
      method: 'post',
      path: '/v1/webhooks/deliveries/:id/redeliver',
      // Not webhooks:read, because it acts; it repeats what a job of the account was asked to do, as canceling ends it.
      access: 'jobs:write',
      handle: async ({ request, response, owner }) => {
        const id = String(request.params['id']);
        if (!isId('evt', id)) throw new ServiceError('NOT_FOUND', 'No delivery has such an id.');
        const wanted = { accountId: owner.accountId, id };
        const delivery = await db.asTenant(owner.accountId, (sql) => redeliver(sql, wanted));
        response.status(202);
        sendJson(response, owner, { delivery });
      },
    },
  ];
}
