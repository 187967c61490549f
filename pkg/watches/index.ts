export { type WatchActor } from './actor.ts';
export { cancelWatch } from './cancel.ts';
export { createWatch, type WatchDeps } from './create.ts';
export { dispatchDue, type DispatchDeps } from './dispatch.ts';
export { listRuns, listWatches, readManagedWatch, readWatch, type RunListQuery, type WatchListQuery } from './read.ts';
export { updateWatch, type WatchChange } from './update.ts';
export {
  cancelManagedWatches,
  listManagedRuns,
  pauseManagedWatches,
  readManagedWatches,
  type ManagedWatch,
} from './managed.ts';
