export { createDrivers, type Drivers, type DriversDeps } from './drivers.ts';
export { parseLane, type CaptureLane, type LaneSpec } from './lane.ts';
export { loadLaneFile, loadLanes, type LoadOptions } from './load.ts';
export {
  createLaneBook,
  listSurfaces,
  noteLane,
  publishLanes,
  readLanes,
  reportLane,
  type LaneBook,
  type LaneState,
} from './registry.ts';
export { createRunner, type Runner, type RunnerDeps, type RunnerOptions } from './runner.ts';
export { tryLane, type Trial, type TriedSelector, type TriedStep } from './trial.ts';
