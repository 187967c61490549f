import { number, ValidationError, type InferType } from 'yup';
import type { Region } from '../regions.ts';
import type { Surface } from '../surfaces.ts';
import {
  destinationUrl,
  extractInput,
  normalizeExtract,
  queryText,
  readSurfaces,
  requireShortQuery,
  surfacesInput,
  type Extraction,
} from './fields.ts';
import { normalizeRegions, refuseAbsurdlyManyRegions, regionsInput, requireFewRegions } from './region.ts';
import { EVERY_VALUES, MAX_INTERVAL_MINUTES, parseEvery } from './schedule.ts';
import { checkShape, closed, fault, oneOf, textUpTo } from './shape.ts';

/** A validated new watch. */
export type WatchDraft = {
  name: string;
  query: string;
  surfaces: Surface[];
  /** Empty: one untargeted run per surface. */
  regions: Region[];
  extract: Extraction | null;
  webhookUrl: string | null;
  intervalMinutes: number;
};

/** What an update changes; a field that is not there stays as it is, null takes it away. */
export type WatchPatch = {
  name?: string;
  intervalMinutes?: number;
  extract?: Extraction | null;
  webhookUrl?: string | null;
  status?: 'active' | 'paused';
};

const MAX_NAME_CHARACTERS = 200;
const WHAT = 'must be a JSON object';
const SCHEDULE_RULE = `must be an object of either every (${EVERY_VALUES.join(', ')}) or intervalMinutes (a positive integer)`;
const MINUTES_RULE = 'must be a positive integer';

const schedule = closed(
  {
    every: oneOf(EVERY_VALUES),
    intervalMinutes: number()
      .typeError(MINUTES_RULE)
      .nonNullable(MINUTES_RULE)
      .integer(MINUTES_RULE)
      .min(1, MINUTES_RULE)
      .max(MAX_INTERVAL_MINUTES, `must be at most ${MAX_INTERVAL_MINUTES}`),
  },
  SCHEDULE_RULE,
).test('one-form', (value: { every?: unknown; intervalMinutes?: unknown } | undefined, { path }) => {
  if (value === undefined) return true;
  if (value.every === undefined && value.intervalMinutes === undefined)
    return new ValidationError(SCHEDULE_RULE, undefined, path, 'rule', true);
  if (value.every === undefined || value.intervalMinutes === undefined) return true;
  return fault(path, 'every', "can't be sent beside intervalMinutes; send one of them");
});

const draftBody = closed(
  {
    name: textUpTo(MAX_NAME_CHARACTERS),
    query: queryText.defined('is required'),
    surfaces: surfacesInput,
    regions: regionsInput,
    extract: extractInput,
    webhookUrl: destinationUrl,
    schedule: schedule.defined(SCHEDULE_RULE),
  },
  WHAT,
).defined(WHAT);

const patchBody = closed(
  {
    name: textUpTo(MAX_NAME_CHARACTERS),
    schedule,
    extract: extractInput,
    webhookUrl: destinationUrl.nullable(),
    status: oneOf(['active', 'paused'], 'must be one of active, paused; DELETE cancels a watch'),
  },
  WHAT,
).defined(WHAT);

/**
 * The body of `POST /v1/watches` (spec 4.13). Faults are told in the order of `parseSearchBody`. Whether the interval
 * meets the plan's floor, and where `webhookUrl` leads, is judged elsewhere.
 */
export function parseWatchCreate(body: unknown): WatchDraft {
  refuseAbsurdlyManyRegions(body, '');
  const checked = checkShape(draftBody, body);
  const surfaces = readSurfaces(checked.surfaces, '');
  const regions = typeof checked.regions === 'string' ? [checked.regions] : (checked.regions ?? []);
  requireFewRegions(regions, '');
  requireShortQuery(checked.query, 'query');
  return {
    name: checked.name ?? '',
    query: checked.query,
    surfaces,
    regions: normalizeRegions(regions, ''),
    extract: normalizeExtract(checked.extract),
    webhookUrl: checked.webhookUrl ?? null,
    intervalMinutes: readInterval(checked.schedule),
  };
}

/** The body of `PATCH /v1/watches/{id}` (spec 4.13). An empty object is fine and changes nothing. */
export function parseWatchUpdate(body: unknown): WatchPatch {
  const { name, schedule: newSchedule, extract, webhookUrl, status } = checkShape(patchBody, body);
  return {
    ...(name === undefined ? {} : { name }),
    ...(newSchedule === undefined ? {} : { intervalMinutes: readInterval(newSchedule) }),
    ...(extract === undefined ? {} : { extract: normalizeExtract(extract) }),
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
    ...(status === undefined ? {} : { status }),
  };
}

function readInterval({ every, intervalMinutes }: NonNullable<InferType<typeof schedule>>): number {
  const minutes = intervalMinutes ?? (every === undefined ? null : parseEvery(every));
  if (minutes === null) throw new Error('a checked schedule has one of its two forms');
  return minutes;
}
