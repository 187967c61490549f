export { createDrivers, type Drivers, type DriversDeps } from './drivers.ts';
export { parseLane, type CaptureLane, type LaneSpec } from './lane.ts';
export { loadLanes, type LoadOptions } from './load.ts';
export {
  createLaneBook,
  listSurfaces,
  publishLanes,
  readLanes,
  reportLane,
  type LaneBook,
  type LaneState,
} from './registry.ts';
export {
  NO_MEMORY,
  planScaling,
  type Demand,
  type PodState,
  type ScalingInput,
  type ScalingMemory,
  type ScalingPlan,
  type ScalingReason,
} from './scaling/index.ts';
export { createRunner, type Runner, type RunnerDeps, type RunnerOptions } from './runner.ts';
