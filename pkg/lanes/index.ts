export { createDrivers, type Drivers, type DriversDeps } from './drivers.ts';
export { parseLane, type CaptureLane, type LaneSpec } from './lane.ts';
export { loadLaneFile, loadLanes, type LoadOptions } from './load.ts';
export { readDemand } from './demand.ts';
export {
  cordonPods,
  forgetLostPods,
  forgetPod,
  readPods,
  reportPod,
  uncordonPods,
  type KnownPod,
  type PodReport,
} from './pods.ts';
export { startReporter, type ReporterDeps } from './reporter.ts';
export {
  createLaneBook,
  listSurfaces,
  publishLane,
  noteLane,
  publishLanes,
  readLanes,
  reportLane,
  withdrawLane,
  withdrawOtherLanes,
  type LaneBook,
  type LaneState,
  type PublishedLane,
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
export { tryLane, type Trial, type TriedSelector, type TriedStep } from './trial.ts';
