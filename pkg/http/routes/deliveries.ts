import { encodeCursor, isId, parseDeliveryListQuery, ServiceError } from '../../contract/index.ts';
import { listDeliveries, redeliver } from '../../webhooks/index.ts';
import type { ApiDeps, Route } from '../context.ts';
import { sendJson } from '../owner.ts';

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
        // One more than asked tells whether there is a next page.
        const wanted = { ...filter, accountId, after: cursor, limit: limit + 1 };
        const items = await db.readAsTenant(accountId, (sql) => listDeliveries(sql, wanted));
        const page = items.slice(0, limit);
        const last = items.length > limit ? page.at(-1) : undefined;
        const nextCursor = last === undefined ? null : encodeCursor(last);
        sendJson(response, owner, { items: page, nextCursor });
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
