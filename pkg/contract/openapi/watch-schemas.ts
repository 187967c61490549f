import { EVERY_VALUES, MAX_INTERVAL_MINUTES } from '../schemas/schedule.ts';
import { WATCH_STATUSES } from '../schemas/query.ts';
import { PAUSED_REASONS, WATCH_RUN_STATUSES } from '../watches.ts';
import { closedObject, list, moment, momentOrNull, object, oneOfWords, ref, text, textOrNull } from './build.ts';
import { destinationUrl, NO_NUL, queryText, regionsInput } from './request-schemas.ts';
import { owned } from './response-schemas.ts';
import type { Schema } from './types.ts';

const MAX_NAME_CHARACTERS = 200;

const name: Schema = {
  type: 'string',
  maxLength: MAX_NAME_CHARACTERS,
  pattern: NO_NUL,
  description: 'For people.',
};
const surfaces = list(ref('Surface'), { minItems: 1 });
const url = { ...destinationUrl, description: 'Where each capture of a run is delivered. Public https destination.' };

const requests: Record<string, Schema> = {
  WatchSchedule: {
    description: 'How often. The plan has a shortest interval.',
    anyOf: [
      closedObject({ every: oneOfWords(EVERY_VALUES) }, ['every']),
      closedObject({ intervalMinutes: { type: 'integer', minimum: 1, maximum: MAX_INTERVAL_MINUTES } }, [
        'intervalMinutes',
      ]),
    ],
  },
  WatchBody: closedObject(
    {
      name,
      query: queryText('The exact text sent to each surface.'),
      surfaces,
      regions: regionsInput('Where to ask from; at most 10. Omitted or empty: one untargeted run for each surface.'),
      extract: ref('ExtractInput'),
      webhookUrl: url,
      schedule: ref('WatchSchedule'),
    },
    ['query', 'surfaces', 'schedule'],
  ),
  WatchPatchBody: closedObject({
    name,
    schedule: ref('WatchSchedule'),
    extract: ref('ExtractInput'),
    webhookUrl: { description: 'null takes it away.', anyOf: [url, { type: 'null' }] },
    status: oneOfWords(['active', 'paused'], 'DELETE cancels a watch.'),
  }),
};

const nextCursor = textOrNull('Cursor of the next page; null on the last.');

const responses: Record<string, Schema> = {
  Watch: object({
    id: { type: 'string', pattern: '^watch_' },
    name: text('For people.'),
    query: text('The saved query.'),
    surfaces,
    regions: list(ref('Region'), { description: 'Empty: untargeted.' }),
    extract: {
      description: 'null: no extraction.',
      anyOf: [object({ targets: list({ type: 'string' }) }), { type: 'null' }],
    },
    webhookUrl: textOrNull('Where captures are delivered.'),
    schedule: object({
      every: { type: 'string', pattern: '^[1-9][0-9]*[mhd]$', description: 'The interval in its largest exact unit.' },
      intervalMinutes: { type: 'integer', minimum: 1, description: 'The source of truth.' },
    }),
    status: oneOfWords(WATCH_STATUSES),
    pausedReason: { type: ['string', 'null'], enum: [...PAUSED_REASONS, null] },
    nextRunAt: moment('The next tick.'),
    lastRunAt: momentOrNull('When the latest run that made a job was dispatched.'),
    lastJobId: textOrNull('Its parent job.'),
    createdAt: moment('Made at.'),
  }),
  WatchRun: object({
    id: { type: 'string', pattern: '^wrun_' },
    watchId: text('Its watch.'),
    jobId: textOrNull('Its parent job; null when it was skipped or failed.'),
    scheduledFor: moment('The tick.'),
    status: oneOfWords(WATCH_RUN_STATUSES),
    detail: text('For people.'),
    createdAt: moment('Dispatched at.'),
  }),
  WatchResult: owned({ watch: ref('Watch') }),
  WatchWithRuns: owned({ watch: ref('Watch'), runs: list(ref('WatchRun'), { maxItems: 10 }) }),
  WatchList: owned({ items: list(ref('Watch')), nextCursor }),
  WatchRunList: owned({ items: list(ref('WatchRun')), nextCursor }),
  CanceledWatch: owned({ watch: object({ id: text('Watch.'), status: { type: 'string', const: 'canceled' } }) }),
};

/** Watches and their runs, sent and received (spec 2.6, 2.7, 4.13). */
export const WATCH_SCHEMAS: Record<string, Schema> = { ...requests, ...responses };
