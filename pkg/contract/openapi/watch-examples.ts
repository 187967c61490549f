import type { Watch, WatchRun } from '../watches.ts';
import type { Json } from './types.ts';

const ID = 'watch_01j00000000000000000000000';

const watch = {
  id: ID,
  name: 'Bicycle news',
  query: 'city bicycles',
  surfaces: ['engine_news'],
  regions: [{ country: 'DE' }],
  extract: { targets: ['Acme'] },
  webhookUrl: 'https://receiver.example/captures',
  schedule: { every: '1h', intervalMinutes: 60 },
  status: 'active',
  pausedReason: null,
  nextRunAt: '2026-07-01T11:00:00.000Z',
  lastRunAt: '2026-07-01T10:00:00.310Z',
  lastJobId: 'job_01j00000000000000000000000',
  createdAt: '2026-07-01T09:00:00.000Z',
} satisfies Watch;

const run = {
  id: 'wrun_01j00000000000000000000000',
  watchId: ID,
  jobId: watch.lastJobId,
  scheduledFor: '2026-07-01T10:00:00.000Z',
  status: 'dispatched',
  detail: 'Started 1 capture for 3 credits.',
  createdAt: watch.lastRunAt,
} satisfies WatchRun;

/** One watch in all its forms. */
export const WATCH_EXAMPLES = {
  body: {
    name: watch.name,
    query: watch.query,
    surfaces: watch.surfaces,
    regions: ['DE'],
    extract: watch.extract,
    webhookUrl: watch.webhookUrl,
    schedule: { every: '1h' },
  },
  patch: { status: 'paused' },
  result: { watch },
  pausedResult: { watch: { ...watch, status: 'paused', pausedReason: 'user' } },
  canceled: { watch: { id: ID, status: 'canceled' } },
  list: { items: [watch], nextCursor: null },
  withRuns: { watch, runs: [run] },
  runs: { items: [run], nextCursor: null },
} satisfies Record<string, Json>;
