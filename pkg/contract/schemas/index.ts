export { decodeCursor, encodeCursor, type CursorPosition } from './cursor.ts';
export { MAX_QUERY_CHARACTERS, MAX_TARGETS, type Extraction } from './fields.ts';
export { fingerprint } from './fingerprint.ts';
export { jsonDepthExceeds } from './json-depth.ts';
export { parsePrefer } from './prefer.ts';
export {
  parseDeliveryListQuery,
  parseHealthQuery,
  parseJobListQuery,
  parseJobQuery,
  parseOwnerQuery,
  parseRunListQuery,
  parseSearchQuery,
  parseWatchListQuery,
  WATCH_STATUSES,
  type DeliveryFilter,
  type Page,
  type WatchStatus,
} from './query.ts';
export { MAX_REGIONS } from './region.ts';
export { EVERY_VALUES, formatEvery, MAX_INTERVAL_MINUTES, parseEvery, type Every } from './schedule.ts';
export {
  MAX_BATCH_ITEMS,
  parseBatchBody,
  parseSearchBody,
  type SearchBodyOptions,
  type SearchRequest,
} from './search.ts';
export { parseWatchCreate, parseWatchUpdate, type WatchDraft, type WatchPatch } from './watch.ts';
