import type { ErrorCode } from '../errors.ts';
import { WATCH_STATUSES } from '../schemas/query.ts';
import { oneOfWords } from './build.ts';
import { idParameter, ownerRoute } from './owner-route.ts';
import { PAGE_PARAMETERS } from './parameters.ts';
import type { PathItem } from './types.ts';
import { WATCH_EXAMPLES } from './watch-examples.ts';

const tags = ['Watches'];
const watchId = [idParameter('Watch id.')];

const CREATE_CODES: readonly ErrorCode[] = [
  'UNSUPPORTED_SURFACE',
  'TOO_MANY_REGIONS',
  'QUERY_TOO_LONG',
  'WATCH_INTERVAL_TOO_SHORT',
  'WATCH_LIMIT_EXCEEDED',
];
const UPDATE_CODES: readonly ErrorCode[] = ['WATCH_NOT_FOUND', 'WATCH_INTERVAL_TOO_SHORT', 'WATCH_LIMIT_EXCEEDED'];

const createWatch = ownerRoute({
  operationId: 'createWatch',
  summary: 'Save a search that runs on a schedule',
  description:
    'The first run is one interval from now. Creating a watch costs nothing; its runs cost what searches do.',
  tags,
  scope: 'watches:write',
  takes: ['WatchBody', { hourly: WATCH_EXAMPLES.body }],
  status: 201,
  returns: ['The watch.', 'WatchResult', { active: WATCH_EXAMPLES.result }],
  codes: CREATE_CODES,
});

const listWatches = ownerRoute({
  operationId: 'listWatches',
  summary: 'List watches, newest first',
  tags,
  scope: 'watches:read',
  parameters: [
    ...PAGE_PARAMETERS,
    { name: 'status', in: 'query', description: 'Only watches in this state.', schema: oneOfWords(WATCH_STATUSES) },
  ],
  returns: ['A page of watches.', 'WatchList', { page: WATCH_EXAMPLES.list }],
});

const getWatch = ownerRoute({
  operationId: 'getWatch',
  summary: 'Read a watch and its newest runs',
  tags,
  scope: 'watches:read',
  parameters: watchId,
  returns: ['The watch, and up to ten runs.', 'WatchWithRuns', { active: WATCH_EXAMPLES.withRuns }],
  codes: ['WATCH_NOT_FOUND'],
});

const updateWatch = ownerRoute({
  operationId: 'updateWatch',
  summary: 'Change, pause or resume a watch',
  description:
    'A field that is not sent stays as it is. After a resume or a new interval it next runs an interval from now.',
  tags,
  scope: 'watches:write',
  parameters: watchId,
  takes: ['WatchPatchBody', { pause: WATCH_EXAMPLES.patch }],
  returns: ['The watch after it.', 'WatchResult', { paused: WATCH_EXAMPLES.pausedResult }],
  codes: UPDATE_CODES,
});

const cancelWatch = ownerRoute({
  operationId: 'cancelWatch',
  summary: 'Cancel a watch for good',
  description: 'It makes no new runs. The history of its runs is kept.',
  tags,
  scope: 'watches:write',
  parameters: watchId,
  returns: ['Canceled.', 'CanceledWatch', { canceled: WATCH_EXAMPLES.canceled }],
  codes: ['WATCH_NOT_FOUND'],
});

const listWatchRuns = ownerRoute({
  operationId: 'listWatchRuns',
  summary: 'List the runs of a watch, newest first',
  tags,
  scope: 'watches:read',
  parameters: [...watchId, ...PAGE_PARAMETERS],
  returns: ['A page of runs.', 'WatchRunList', { page: WATCH_EXAMPLES.runs }],
  codes: ['WATCH_NOT_FOUND'],
});

/** Spec 4.13. */
export const WATCH_PATHS: Record<string, PathItem> = {
  '/v1/watches': { get: listWatches, post: createWatch },
  '/v1/watches/{id}': { get: getWatch, patch: updateWatch, delete: cancelWatch },
  '/v1/watches/{id}/runs': { get: listWatchRuns },
};
