import type { ErrorCode } from '../errors.ts';
import { oneOfWords, ref } from './build.ts';
import { EXAMPLES } from './examples.ts';
import {
  concurrencyHeaders,
  CREDIT_HEADERS,
  locationHeader,
  OWNER_HEADER,
  PREFERENCE_HEADER,
  RATE_HEADERS,
  REPLAY_HEADER,
} from './headers.ts';
import { COMMON_PARAMETERS, OWNER_PARAMETERS, scoped, SCOPED_CODES, viewParameter } from './parameters.ts';
import { answers, nameExamples, refusals } from './replies.ts';
import type { Content, Header, Json, Operation, Parameter, PathItem, Reply } from './types.ts';

const SUBMIT_CODES: readonly ErrorCode[] = [
  ...SCOPED_CODES,
  'UNSUPPORTED_SURFACE',
  'INSUFFICIENT_CREDITS',
  'IDEMPOTENCY_CONFLICT',
  'UNSUPPORTED_METHOD_FOR_SURFACE',
  'TOO_MANY_REGIONS',
  'QUERY_TOO_LONG',
  'RATE_LIMIT_EXCEEDED',
  'CONCURRENCY_LIMIT_EXCEEDED',
  'QUEUE_CAPACITY_EXCEEDED',
  'REQUEST_CANCELED',
  'ACQUISITION_FAILED',
  'EMPTY_ANSWER',
  'UPSTREAM_BAD_GATEWAY',
  'DRIVER_UNAVAILABLE',
  'SUBMISSION_FAILED',
  'WEBHOOK_SECRET_UNAVAILABLE',
  'SURFACE_TIMEOUT',
];

/** A batch is refused as a whole only for these; what is wrong with one item is told in its result (spec 4.3). */
const BATCH_CODES: readonly ErrorCode[] = [
  ...SCOPED_CODES,
  'INSUFFICIENT_CREDITS',
  'RATE_LIMIT_EXCEEDED',
  'QUEUE_CAPACITY_EXCEEDED',
  'DRIVER_UNAVAILABLE',
  'SUBMISSION_FAILED',
];

const success: Record<string, Header> = {
  ...RATE_HEADERS,
  ...concurrencyHeaders(true),
  ...CREDIT_HEADERS,
  ...OWNER_HEADER,
};

/** The gates are those of the caller's account, so a 401 tells nothing of them. */
function submitErrorHeaders(status: number): Record<string, Header> {
  if (status === 401) return {};
  const rate = status === 500 ? optional(RATE_HEADERS) : RATE_HEADERS;
  return { ...rate, ...concurrencyHeaders(status < 500), ...locationHeader(false), ...PREFERENCE_HEADER };
}

function optional(headers: Record<string, Header>): Record<string, Header> {
  return Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, { ...header, required: false }]));
}

const parameters: readonly Parameter[] = [
  {
    name: 'mode',
    in: 'query',
    description: 'How to answer. Omitted: one surface without a webhook is synchronous. A webhook is always async.',
    schema: oneOfWords(['sync', 'async']),
  },
  viewParameter('The short form of synchronous results.'),
  {
    name: 'Prefer',
    in: 'header',
    description: 'wait=N: synchronous, and wait at most N seconds (at most 120).',
    schema: { type: 'string' },
  },
  ...OWNER_PARAMETERS,
  ...COMMON_PARAMETERS,
];

const replies: Record<string, Reply> = {
  200: answers(
    'Every child has ended.',
    { anyOf: [ref('SyncEnvelope'), ref('SyncResults'), ref('SyncFlat'), ref('SyncFlatResults')] },
    {
      oneChild: EXAMPLES.syncEnvelope,
      severalChildren: EXAMPLES.syncResults,
      oneChildFlat: EXAMPLES.syncFlat,
      severalChildrenFlat: EXAMPLES.syncFlatResults,
    },
    { ...success, ...locationHeader(true), ...PREFERENCE_HEADER },
  ),
  202: answers(
    'Accepted, or accepted before under the same idempotencyKey.',
    ref('Accepted'),
    { accepted: EXAMPLES.accepted },
    { ...success, ...locationHeader(true), ...REPLAY_HEADER },
  ),
  ...refusals(SUBMIT_CODES, submitErrorHeaders),
};

function body(name: string, examples: Record<string, Json>): { required: true; content: Content } {
  return {
    required: true,
    content: { 'application/json': { schema: ref(name), examples: nameExamples(examples) } },
  };
}

const common = { tags: ['Search'], security: scoped('search:write') };

const search: Operation = {
  ...common,
  operationId: 'search',
  summary: 'Ask one or more surfaces',
  description:
    'Makes one child for each surface and region. Only completed captures with a present surface are charged.',
  parameters,
  requestBody: body('SearchBody', { several: EXAMPLES.searchBody, withWebhook: EXAMPLES.webhookBody }),
  responses: replies,
};

const searchSurface: Operation = {
  ...common,
  operationId: 'searchSurface',
  summary: 'Ask one surface',
  description: 'As POST /v1/search, with the surface in the path; synchronous unless asked otherwise.',
  parameters: [
    { name: 'surface', in: 'path', required: true, description: 'The surface to ask.', schema: ref('Surface') },
    ...parameters,
  ],
  requestBody: body('SurfaceSearchBody', { country: EXAMPLES.surfaceBody }),
  responses: replies,
};

const searchBatch: Operation = {
  ...common,
  operationId: 'searchBatch',
  summary: 'Submit up to 500 searches',
  description: 'Each item is a search of its own, always asynchronous. A rejected item affects no other.',
  parameters: [...OWNER_PARAMETERS, ...COMMON_PARAMETERS],
  requestBody: body('BatchBody', { two: EXAMPLES.batchBody }),
  responses: {
    200: answers('One result for each item.', ref('BatchResults'), { mixed: EXAMPLES.batch }, success),
    ...refusals(BATCH_CODES, submitErrorHeaders),
  },
};

/** Spec 4.1 to 4.3. */
export const SEARCH_PATHS: Record<string, PathItem> = {
  '/v1/search': { post: search },
  '/v1/search/batch': { post: searchBatch },
  '/v1/search/{surface}': { post: searchSurface },
};
