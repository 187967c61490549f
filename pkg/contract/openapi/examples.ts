import { flatten, type Envelope } from '../envelope.ts';
import { SCHEMA_VERSION } from '../version.ts';
import type { Json } from './types.ts';

const JOB = 'job_01j00000000000000000000000';
const CHILD = `${JOB}.engine_news.de`;
const AT = '2026-07-01T09:00:00.000Z';
const credits = { creditsToCharge: 3, creditsCharged: 3 };
const uncharged = { creditsToCharge: 3, creditsCharged: 0 };

const envelope = {
  job: {
    id: CHILD,
    status: 'completed',
    warnings: [],
    parentId: JOB,
    surface: 'engine_news',
    query: 'city bicycles',
    createdAt: AT,
    startedAt: '2026-07-01T09:00:00.120Z',
    completedAt: '2026-07-01T09:00:02.480Z',
    attempts: 1,
  },
  provenance: {
    model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
    webSearch: true,
    surfacePresent: true,
    region: { requested: { country: 'DE' }, effective: { language: 'de-DE' } },
    schemaVersion: SCHEMA_VERSION,
  },
  answer: {
    text: 'Acme opens a bicycle shop',
    markdown: '[Acme opens a bicycle shop](https://news.example/acme)',
    blocks: [{ type: 'list', text: 'Acme opens a bicycle shop', referenceIds: [1] }],
  },
  evidence: {
    sources: [
      {
        id: 1,
        url: 'https://news.example/acme',
        title: 'Acme opens a bicycle shop',
        role: 'result',
        cited: true,
        charRanges: [{ start: 0, end: 25 }],
      },
    ],
    fanOut: { provenance: 'none', queries: [] },
    mentions: {
      items: [
        {
          brand: 'Acme',
          domain: null,
          mentioned: true,
          position: 1,
          sentiment: null,
          linked: false,
          target: 'Acme',
          sourceIds: [1],
          snippet: 'Acme opens a bicycle shop',
        },
      ],
    },
    shopping: null,
    ads: null,
  },
  credits,
} satisfies Envelope;

const failedDelivery = {
  id: 'evt_01j00000000000000000000000',
  type: 'job.completed',
  jobId: JOB,
  childId: CHILD,
  url: 'https://receiver.example/captures',
  state: 'pending',
  attempts: 2,
  nextAttemptAt: '2026-07-01T09:05:08.210Z',
  lastStatus: 500,
  lastError: 'the receiver answered 500',
  createdAt: AT,
  deliveredAt: null,
};

const flat: Json = flatten(envelope);
const accepted = { jobId: JOB, status: 'processing', children: [CHILD], credits: uncharged };
const day = { callCount: 1, creditsCharged: 3 };

/** One search in all its forms, so that the examples of the document tell one story. */
export const EXAMPLES = {
  envelope,
  syncEnvelope: { ...envelope, jobId: JOB, status: 'completed' },
  syncResults: { jobId: JOB, status: 'completed', results: [envelope], credits },
  flat,
  syncFlat: { ...flatten(envelope), jobId: JOB, status: 'completed' },
  syncFlatResults: { jobId: JOB, status: 'completed', results: [flat], credits },
  accepted,
  batch: {
    items: [
      { index: 0, ...accepted, status: 'accepted' },
      { index: 1, status: 'rejected', code: 'UNSUPPORTED_SURFACE', message: 'items[1].surfaces[0] is no surface' },
    ],
  },
  jobList: { items: [{ id: JOB, status: 'completed', prompt: 'city bicycles', createdAt: AT }], nextCursor: null },
  job: {
    job: { id: JOB, status: 'completed', children: [CHILD] },
    children: [{ id: CHILD, surface: 'engine_news', region: 'de', status: 'completed' }],
    credits,
  },
  openChild: { job: { id: CHILD, status: 'running' }, children: [] },
  canceledJob: { job: { id: JOB, status: 'canceled' } },
  usage: {
    plan: {
      id: 'free',
      limits: {
        submitsPerMinute: 60,
        syncInFlight: 4,
        queuedChildren: 1000,
        activeWatches: 5,
        minWatchIntervalMinutes: 60,
      },
    },
    usage: {
      window: { from: '2026-06-02', to: '2026-07-01' },
      groups: [{ surface: 'engine_news', region: 'de', method: 'sync', ...day }],
      totals: day,
      daily: Array.from({ length: 90 }, (_, index) => ({
        date: new Date(Date.parse('2026-04-03') + index * 86_400_000).toISOString().slice(0, 10),
        ...(index === 89 ? day : { callCount: 0, creditsCharged: 0 }),
      })),
    },
    balance: { total: 497, reserved: 0, available: 497 },
  },
  asyncStatus: {
    rate: { limit: 60, remaining: 59, resetAt: AT },
    concurrency: { limit: 4, running: 0 },
    queue: { limit: 1000, queued: 0, running: 1 },
  },
  secrets: {
    secrets: [{ id: 'whsec_01j00000000000000000000000', status: 'active', createdAt: AT, expiresAt: null }],
  },
  surfaces: { surfaces: [{ id: 'engine_news', live: true }], schemaVersion: SCHEMA_VERSION },
  health: {
    status: 'ok',
    schemaVersion: SCHEMA_VERSION,
    bindings: { artifacts: true, edgeCache: true, database: true },
  },
  degraded: {
    status: 'degraded',
    schemaVersion: SCHEMA_VERSION,
    bindings: { artifacts: true, edgeCache: false, database: true },
  },
  deliveryList: { items: [failedDelivery], nextCursor: null },
  redelivered: { delivery: { ...failedDelivery, attempts: 0, nextAttemptAt: null } },
  delivery: {
    id: 'evt_01j00000000000000000000000',
    type: 'job.completed',
    createdAt: AT,
    job: { id: CHILD, parentId: JOB, surface: 'engine_news', region: 'de', status: 'completed' },
    result: envelope,
    credits,
  },
  searchBody: {
    query: 'city bicycles',
    surfaces: ['engine_news', 'assistant_two'],
    regions: ['DE', { country: 'US', city: 'Los Angeles', language: 'en-US' }],
    extract: { targets: ['Acme', 'acme.example'] },
    include: { html: true },
    idempotencyKey: 'weekly-report-27',
  },
  webhookBody: {
    query: 'city bicycles',
    surfaces: ['engine_news'],
    webhook: { url: 'https://receiver.example/captures' },
  },
  surfaceBody: { prompt: 'city bicycles', country: 'DE' },
  batchBody: {
    items: [
      { query: 'city bicycles', surfaces: ['engine_news'], idempotencyKey: 'row-1' },
      { query: 'cargo bicycles', surfaces: ['engine_search'], regions: ['DE', 'AT'] },
    ],
  },
} satisfies Record<string, Json>;
