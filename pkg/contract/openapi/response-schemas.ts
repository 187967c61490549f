import { DELIVERY_STATES, DELIVERY_TYPES } from '../deliveries.ts';
import { ERRORS } from '../errors.ts';
import { CAPTURE_STATES, JOB_STATES, SEARCH_METHODS } from '../states.ts';
import { SCHEMA_VERSION } from '../version.ts';
import { ENVELOPE_PROPERTIES, FLAT_PROPERTIES } from './answer-schemas.ts';
import { count, flag, list, moment, momentOrNull, object, oneOfWords, ref, text, textOrNull } from './build.ts';
import type { Schema } from './types.ts';

const owner = text('The owner that an internal key acts for; there only when such an override applies.');

/** A response of an owner-scoped route: `owner` is added when an internal key names one (spec 4.13). */
export function owned(properties: Record<string, Schema>, optional: readonly string[] = []): Schema {
  return object({ ...properties, owner }, [...optional, 'owner']);
}

const jobId = text('Parent id.');
const jobStatus = oneOfWords(JOB_STATES);
const perDay = { callCount: count('Captures that began and ended.'), creditsCharged: count('Credits charged.') };

const searches: Record<string, Schema> = {
  SyncEnvelope: {
    ...owned({ ...ENVELOPE_PROPERTIES, jobId, status: jobStatus }, ['html']),
    description: 'A synchronous search with one child: its envelope, beside parent id and roll-up.',
  },
  SyncResults: {
    ...owned({ jobId, status: jobStatus, results: list(ref('Envelope')), credits: ref('Credits') }),
    description: 'A synchronous search with several children, in fan-out order, failed ones included.',
  },
  SyncFlat: owned({ ...FLAT_PROPERTIES, jobId, status: jobStatus }, ['error']),
  SyncFlatResults: owned({ jobId, status: jobStatus, results: list(ref('FlatResult')), credits: ref('Credits') }),
  Accepted: owned({
    jobId,
    status: { type: 'string', const: 'processing' },
    children: list({ type: 'string' }, { description: 'Child ids. Use them as they are; never build them.' }),
    credits: ref('Credits'),
  }),
  BatchAccepted: object(
    {
      index: count('Place in the call.'),
      status: { type: 'string', const: 'accepted' },
      jobId,
      children: list({ type: 'string' }),
      credits: ref('Credits'),
      replayed: { type: 'boolean', const: true, description: 'An earlier search with this idempotencyKey.' },
    },
    ['replayed'],
  ),
  BatchRejected: object(
    {
      index: count('Place in the call.'),
      status: { type: 'string', const: 'rejected' },
      code: ref('ErrorCode'),
      message: text('For people; may change.'),
      details: list(ref('FieldIssue')),
    },
    ['details'],
  ),
  BatchResults: owned({
    items: list({ oneOf: [ref('BatchAccepted'), ref('BatchRejected')] }, { description: 'In the order of the call.' }),
  }),
};

const jobs: Record<string, Schema> = {
  JobListItem: object({ id: jobId, status: jobStatus, prompt: text('The query.'), createdAt: moment('Accepted at.') }),
  JobList: owned({
    items: list(ref('JobListItem')),
    nextCursor: textOrNull('Cursor of the next page; null on the last.'),
  }),
  Job: {
    ...owned({
      job: object({ id: jobId, status: jobStatus, children: list({ type: 'string' }) }),
      children: list(
        object({
          id: text('Child id.'),
          surface: ref('Surface'),
          region: text('Region key.'),
          status: oneOfWords(CAPTURE_STATES),
        }),
        { minItems: 1 },
      ),
      credits: ref('Credits'),
    }),
    description: 'The roll-up of a parent.',
  },
  OpenChild: {
    ...owned({
      job: object({ id: text('Child id.'), status: oneOfWords(['queued', 'running']) }),
      children: list({ type: 'string' }, { maxItems: 0 }),
    }),
    description: 'A child that has no result yet.',
  },
  EndedChild: { ...owned(ENVELOPE_PROPERTIES, ['html']), description: 'The envelope of a child that has ended.' },
  EndedFlatChild: owned(FLAT_PROPERTIES, ['error']),
  CanceledJob: owned({ job: object({ id: jobId, status: jobStatus }) }),
};

const account: Record<string, Schema> = {
  Usage: owned({
    plan: object({
      id: text('Plan.'),
      limits: object({
        submitsPerMinute: count('Submits a minute.'),
        syncInFlight: count('Synchronous captures in flight.'),
        queuedChildren: count('Captures that may wait.'),
        activeWatches: count('Active watches.'),
        minWatchIntervalMinutes: count('Shortest interval of a watch, in minutes.'),
      }),
    }),
    usage: object({
      window: object({ from: { type: 'string', format: 'date' }, to: { type: 'string', format: 'date' } }),
      groups: list(
        object({
          surface: ref('Surface'),
          region: text('Region key.'),
          method: oneOfWords(SEARCH_METHODS),
          ...perDay,
        }),
      ),
      totals: object(perDay),
      daily: list(object({ date: { type: 'string', format: 'date' }, ...perDay }), { minItems: 90, maxItems: 90 }),
    }),
    balance: object({
      total: count('Credits.'),
      reserved: count('Held for captures under way.'),
      available: { type: 'integer', description: 'total minus reserved.' },
    }),
  }),
  AsyncStatus: owned({
    rate: object({ limit: count('Submits a minute.'), remaining: count('Left.'), resetAt: moment('Full again at.') }),
    concurrency: object({ limit: count('Synchronous captures.'), running: count('In flight.') }),
    queue: object({ limit: count('Captures that may wait.'), queued: count('Waiting.'), running: count('Running.') }),
  }),
  WebhookSecrets: owned({
    secrets: list(
      object({
        id: { type: 'string', pattern: '^whsec_', description: 'Never the value.' },
        status: oneOfWords(['active', 'retiring']),
        createdAt: moment('Made at.'),
        expiresAt: momentOrNull('Good for verification until then.'),
      }),
    ),
  }),
};

const discovery: Record<string, Schema> = {
  Surfaces: object({
    surfaces: list(object({ id: ref('Surface'), live: flag('True when it can be captured now.') })),
    schemaVersion: { type: 'string', const: SCHEMA_VERSION },
  }),
  Regions: object({
    targeting: object({
      country: text('How to name it.'),
      state: text('How to name it.'),
      city: text('How to name it.'),
      language: text('How to name it.'),
    }),
    examples: list(ref('Region')),
    popularCountries: list({ type: 'string' }, { description: 'A convenience, not an allow-list.' }),
  }),
  Health: object({
    status: oneOfWords(['ok', 'degraded']),
    schemaVersion: { type: 'string', const: SCHEMA_VERSION },
    bindings: object({
      artifacts: flag('Artifact store.'),
      edgeCache: flag('Redis.'),
      database: flag('Postgres.'),
    }),
  }),
};

const errors: Record<string, Schema> = {
  ErrorCode: oneOfWords(Object.keys(ERRORS), 'Branch on this, not on the text.'),
  FieldIssue: object({ path: text('For example items[3].regions[0].country.'), message: text('For people.') }),
  Error: object(
    {
      code: ref('ErrorCode'),
      error: text('For people; may change.'),
      request_id: text('Equal to the X-Request-Id header.'),
      docs_url: { type: 'string', format: 'uri', description: 'The section of this code in the error catalogue.' },
      details: list(ref('FieldIssue')),
    },
    ['details'],
  ),
};

const webhooks: Record<string, Schema> = {
  DeliverySummary: object({
    id: { type: 'string', pattern: '^evt_', description: 'The id of the event, as the receiver saw it.' },
    type: oneOfWords(DELIVERY_TYPES),
    jobId,
    childId: text('Child id.'),
    url: text('Where it goes.'),
    state: oneOfWords(
      DELIVERY_STATES,
      'pending: it will be tried (again). dead: all attempts failed. gone: the receiver answered 410.',
    ),
    attempts: count('Since it was made, or started over.'),
    nextAttemptAt: momentOrNull('When it is tried next; null where that is at once, or never.'),
    lastStatus: { type: ['integer', 'null'], description: 'HTTP status of the last answer; null when none came.' },
    lastError: textOrNull('Why the last attempt failed.'),
    createdAt: moment('When the capture ended.'),
    deliveredAt: momentOrNull('When the receiver acknowledged it.'),
  }),
  DeliveryList: owned({
    items: list(ref('DeliverySummary')),
    nextCursor: textOrNull('Cursor of the next page; null on the last.'),
  }),
  RedeliveredDelivery: owned({ delivery: ref('DeliverySummary') }),
  Delivery: object({
    id: { type: 'string', pattern: '^evt_', description: 'The same on every attempt: recognize repeats by it.' },
    type: oneOfWords(DELIVERY_TYPES),
    createdAt: moment('When the capture ended.'),
    job: object({
      id: text('Child id.'),
      parentId: jobId,
      surface: ref('Surface'),
      region: text('Region key.'),
      status: oneOfWords(['completed', 'partial', 'failed', 'canceled', 'expired']),
    }),
    result: ref('Envelope'),
    credits: ref('Credits'),
  }),
};

/** What the service sends, in responses and in webhook deliveries. */
export const RESPONSE_SCHEMAS: Record<string, Schema> = {
  ...searches,
  ...jobs,
  ...account,
  ...discovery,
  ...errors,
  ...webhooks,
};
