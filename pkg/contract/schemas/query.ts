import { object } from 'yup';
import { DELIVERY_STATES, DELIVERY_TYPES, type DeliveryState, type DeliveryType } from '../deliveries.ts';
import { classifyJobId, type IdPrefix } from '../ids.ts';
import { JOB_STATES, type JobState } from '../states.ts';
import { SURFACES, type Surface } from '../surfaces.ts';
import { decodeCursor, decodePlaceCursor, type CursorPosition, type PlacePosition } from './cursor.ts';
import { checkShape, oneOf, text } from './shape.ts';

// Query parameters that a route does not know are ignored, as proxies and trackers add them; a known one that is
// malformed, empty or repeated (an array here) is VALIDATION_FAILED.

const DEFAULT_LIMIT = 20;
const LIMIT_RULE = 'must be an integer from 1 to 100';
const ONCE = 'must be given once, as text';

export const WATCH_STATUSES = ['active', 'paused', 'canceled'] as const;
export type WatchStatus = (typeof WATCH_STATUSES)[number];

const limit = text(LIMIT_RULE).matches(/^(?:[1-9]\d?|100)$/, LIMIT_RULE);
const view = oneOf(['flat'], 'must be flat');
const page = { limit, cursor: text(ONCE) };

const searchQuery = object({ mode: oneOf(['sync', 'async']), view });
const jobListQuery = object({ ...page, state: oneOf(JOB_STATES), surface: oneOf(SURFACES) });
const jobQuery = object({ view, include: oneOf(['html'], 'must be html') });
const healthQuery = object({ probe: oneOf(['deep'], 'must be deep') });
const watchListQuery = object({ ...page, status: oneOf(WATCH_STATUSES) });
const runListQuery = object(page);
const deliveryListQuery = object({
  ...page,
  state: oneOf(DELIVERY_STATES),
  type: oneOf(DELIVERY_TYPES),
  jobId: text(ONCE).test('a-job', 'must be the id of a job, parent or child', (id) => {
    return id === undefined || classifyJobId(id) !== 'neither';
  }),
});
const changeListQuery = object(page);
export const EXPORT_FORMATS = ['csv', 'ndjson'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];
const exportQuery = object({ format: oneOf(EXPORT_FORMATS).defined('is required: csv or ndjson') });
const ownerQuery = object({ owner: text(ONCE) });

export type Page = { limit: number; cursor: CursorPosition | null };

/** Query of `POST /v1/search` and its alias (spec 4.1). */
export function parseSearchQuery(query: unknown): { mode: 'sync' | 'async' | null; view: 'flat' | null } {
  const checked = checkShape(searchQuery, query);
  return { mode: checked.mode ?? null, view: checked.view ?? null };
}

/** Query of `GET /v1/jobs` (spec 4.4). */
export function parseJobListQuery(query: unknown): Page & { state: JobState | null; surface: Surface | null } {
  const checked = checkShape(jobListQuery, query);
  return { ...readPage(checked, 'job'), state: checked.state ?? null, surface: checked.surface ?? null };
}

/** Query of `GET /v1/jobs/{id}` (spec 4.5). */
export function parseJobQuery(query: unknown): { view: 'flat' | null; includeHtml: boolean } {
  const checked = checkShape(jobQuery, query);
  return { view: checked.view ?? null, includeHtml: checked.include === 'html' };
}

/** Query of `GET /v1/health` (spec 4.11). */
export function parseHealthQuery(query: unknown): { deep: boolean } {
  return { deep: checkShape(healthQuery, query).probe === 'deep' };
}

/** Query of `GET /v1/watches` (spec 4.13). */
export function parseWatchListQuery(query: unknown): Page & { status: WatchStatus | null } {
  const checked = checkShape(watchListQuery, query);
  return { ...readPage(checked, 'watch'), status: checked.status ?? null };
}

/** Query of `GET /v1/watches/{id}/runs` (spec 4.13). */
export function parseRunListQuery(query: unknown): Page {
  return readPage(checkShape(runListQuery, query), 'wrun');
}

/** Query of `GET /v1/watches/{id}/changes`. */
export function parseChangeListQuery(query: unknown): { limit: number; cursor: PlacePosition | null } {
  const { cursor, limit: given } = checkShape(changeListQuery, query);
  return {
    limit: given === undefined ? DEFAULT_LIMIT : Number(given),
    cursor: cursor === undefined ? null : decodePlaceCursor(cursor, 'wrun'),
  };
}

/** Query of `GET /v1/watches/{id}/export`. */
export function parseExportQuery(query: unknown): { format: ExportFormat } {
  return { format: checkShape(exportQuery, query).format };
}

/** What narrows a list of deliveries; null where a filter is not set. */
export type DeliveryFilter = {
  state: DeliveryState | null;
  type: DeliveryType | null;
  /** A parent's id stands for all its children. */
  jobId: string | null;
};

/** Query of `GET /v1/webhooks/deliveries`. */
export function parseDeliveryListQuery(query: unknown): Page & DeliveryFilter {
  const checked = checkShape(deliveryListQuery, query);
  return {
    ...readPage(checked, 'evt'),
    state: checked.state ?? null,
    type: checked.type ?? null,
    jobId: checked.jobId ?? null,
  };
}

/** The `owner` that an internal key may name on any owner-scoped route; null when there is none or it is empty. */
export function parseOwnerQuery(query: unknown): string | null {
  const named = checkShape(ownerQuery, query).owner;
  return named === undefined || named === '' ? null : named;
}

function readPage(checked: { limit?: string | undefined; cursor?: string | undefined }, prefix: IdPrefix): Page {
  return {
    limit: checked.limit === undefined ? DEFAULT_LIMIT : Number(checked.limit),
    cursor: checked.cursor === undefined ? null : decodeCursor(checked.cursor, prefix),
  };
}
