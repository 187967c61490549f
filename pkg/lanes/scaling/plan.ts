import type { LaneSpec } from '../lane.ts';
import { chooseDrain, type Drain } from './drain.ts';
import type { PodState } from './pods.ts';
import { chooseReplicas, type Choice, type Demand, type ScalingMemory } from './replicas.ts';

export type ScalingInput = {
  spec: Pick<LaneSpec, 'suspend' | 'replicas' | 'scaling'>;
  /** What waits and runs; null when it could not be read. That is an error, and an error is not zero. */
  demand: Demand | null;
  pods: readonly PodState[];
  /** What the Deployment asks for at present. */
  current: number;
  memory: ScalingMemory;
  nowMs: number;
};

export type ScalingPlan = Drain & {
  choice: Choice;
  /** How many pods the Deployment shall ask for now. On the way down it follows the pods that are drained. */
  replicas: number;
  busyPods: number;
};

/**
 * How many pods a lane shall have now, and which of them stop taking work (design, "Scaling"). Nothing is read or
 * written here: the same input always gives the same plan.
 */
export function planScaling(input: ScalingInput): ScalingPlan {
  const pods = input.pods.filter((pod) => !pod.terminating);
  const busyPods = pods.filter((pod) => pod.busy > 0).length;
  const choice = chooseReplicas({ ...input, busyPods });
  // Whoever can't be asked for the demand can't say either which pods are busy: nobody goes then.
  const drain = chooseDrain(pods, input.demand === null ? 0 : input.current - choice.replicas);
  const replicas = choice.replicas >= input.current ? choice.replicas : input.current - drain.leaving.length;
  return { ...drain, choice, replicas, busyPods };
}
