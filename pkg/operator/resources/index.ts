/** Our two kinds as the API server keeps them, and what all that the operator makes has in common. */
export { captureLanes, type CaptureLaneObject, type CaptureLaneStatus, type EntryRef } from './capture-lane.ts';
export { watches, type WatchObject, type WatchSpec, type WatchStatusFields } from './watch.ts';
export { FIELD_MANAGER, SCALER_FIELD_MANAGER, LABELS } from './names.ts';
export type { OperatorController, OperatorTiming } from './controller.ts';
