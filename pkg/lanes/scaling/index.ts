export { planScaling, type ScalingInput, type ScalingPlan } from './plan.ts';
export type { PodState } from './pods.ts';
export { NO_MEMORY, type Demand, type ScalingMemory, type ScalingReason } from './replicas.ts';
