export { type WatchActor } from './actor.ts';
export { cancelWatch } from './cancel.ts';
export { listChanges } from './changes/read.ts';
export { createWatch, createWatchMaker, type CreateWatch, type WatchDeps } from './create.ts';
export { dispatchDue, type DispatchDeps } from './dispatch.ts';
export { exportWatch, requireWatch } from './export/rows.ts';
export { writeExport } from './export/write.ts';
export { listRuns, listWatches, readManagedWatch, readWatch, type RunListQuery, type WatchListQuery } from './read.ts';
export { applyWatchManifests, type Applied } from './manifests/apply.ts';
export { loadWatchManifests, type WatchManifest } from './manifests/load.ts';
export { makeWatchSo, type ManagingActor, type WantedWatch } from './mirror.ts';
export { updateWatch, type WatchChange } from './update.ts';
export {
  cancelManagedWatches,
  listManagedRuns,
  pauseManagedWatches,
  readManagedWatches,
  type ManagedWatch,
} from './managed.ts';
