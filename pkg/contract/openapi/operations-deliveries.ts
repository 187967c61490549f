import { DELIVERY_STATES, DELIVERY_TYPES } from '../deliveries.ts';
import { oneOfWords } from './build.ts';
import { EXAMPLES } from './examples.ts';
import { idParameter, ownerRoute } from './owner-route.ts';
import { PAGE_PARAMETERS } from './parameters.ts';
import type { PathItem } from './types.ts';

const listDeliveries = ownerRoute({
  operationId: 'listDeliveries',
  summary: 'List webhook deliveries, newest first',
  description:
    'One for each child of a search or watch with a webhook. A delivery is kept for some time after it has ended, 30 days unless the operator chose otherwise.',
  tags: ['Webhooks'],
  scope: 'webhooks:read',
  parameters: [
    ...PAGE_PARAMETERS,
    {
      name: 'state',
      in: 'query',
      description: 'Only deliveries in this state.',
      schema: oneOfWords(DELIVERY_STATES),
    },
    { name: 'type', in: 'query', description: 'Only deliveries of this event.', schema: oneOfWords(DELIVERY_TYPES) },
    {
      name: 'jobId',
      in: 'query',
      description: 'Only deliveries of this job: a parent id for all its children, or a child id.',
      schema: { type: 'string' },
    },
  ],
  returns: ['A page of deliveries.', 'DeliveryList', { page: EXAMPLES.deliveryList }],
});

const redeliver = ownerRoute({
  operationId: 'redeliver',
  summary: 'Send a delivery again',
  description:
    'Whatever became of it: the same id and bytes, signed anew, with all attempts before it again. While an attempt is under way nothing is changed, so asking twice at once sends once.',
  tags: ['Webhooks'],
  scope: 'jobs:write',
  parameters: [idParameter('Id of the delivery, evt_….')],
  status: 202,
  returns: ['The delivery is due.', 'RedeliveredDelivery', { due: EXAMPLES.redelivered }],
  codes: ['NOT_FOUND'],
});

/** Beyond the spec: the log of what spec 6 sends. */
export const DELIVERY_PATHS: Record<string, PathItem> = {
  '/v1/webhooks/deliveries': { get: listDeliveries },
  '/v1/webhooks/deliveries/{id}/redeliver': { post: redeliver },
};
