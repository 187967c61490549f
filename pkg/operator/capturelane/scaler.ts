import {
  cordonPods,
  planScaling,
  uncordonPods,
  type LaneSpec,
  type PodState,
  type ScalingMemory,
  type ScalingPlan,
} from '../../lanes/index.ts';
import type { Sql } from '../../postgres/index.ts';
import { formatKey, keyOf, type Deployment, type Pod, type ResourceClient } from '../kube/index.ts';
import { FIELD_MANAGER, SCALER_FIELD_MANAGER } from '../resources/index.ts';
import type { Look } from './look.ts';

export type ScalerDeps = { sql: Sql; deployments: ResourceClient<Deployment>; pods: ResourceClient<Pod> };

export type ScaleInput = {
  spec: Pick<LaneSpec, 'suspend' | 'replicas' | 'scaling'>;
  deployment: Deployment;
  look: Look;
  pods: readonly PodState[];
  memory: ScalingMemory;
  /** While pods are replaced, which of them goes is the rollout's business: none is taken as long as one is busy. */
  rollingOut: boolean;
  nowMs: number;
};

export type Scaled = { plan: ScalingPlan; from: number; to: number };

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
/** Below any pod that says nothing of its cost, which is 0. */
const IDLE_COST = '-100';

/**
 * Looks how many pods there should be and takes the next step towards it: more at once, fewer by telling idle ones to
 * take no more work, and taking those that have obeyed.
 */
export async function scaleLane(deps: ScalerDeps, input: ScaleInput, signal: AbortSignal): Promise<Scaled> {
  const { deployment, look, pods, nowMs } = input;
  const current = deployment.spec?.replicas ?? 0;
  const plan = planScaling({ ...input, demand: look.demand, current, pods, nowMs });
  if (plan.choice.replicas >= current || look.demand === null) {
    await uncordonPods(deps.sql, look.demand === null ? [] : namesOf(deployment, plan.uncordon));
    return writeScale(deps, deployment, plan, plan.replicas, signal);
  }
  if (input.rollingOut && plan.busyPods > 0) return { plan, from: current, to: current };
  await uncordonPods(deps.sql, namesOf(deployment, plan.uncordon));
  const drained = await cordonPods(deps.sql, namesOf(deployment, plan.cordon));
  const isUp = new Map(pods.map(({ name, ready }) => [name, ready]));
  const leaving = plan.leaving.filter(
    (name) => isUp.get(name) === false || namesOf(deployment, [name]).every((known) => drained.has(known)),
  );
  if (leaving.length === 0) return { plan, from: current, to: current };
  await Promise.all(leaving.map((name) => markForDeletion(deps, deployment, name, signal)));
  return writeScale(deps, deployment, plan, current - leaving.length, signal);
}

async function writeScale(
  deps: ScalerDeps,
  deployment: Deployment,
  plan: ScalingPlan,
  replicas: number,
  signal: AbortSignal,
): Promise<Scaled> {
  const from = deployment.spec?.replicas ?? 0;
  if (replicas !== from) {
    await deps.deployments.scale(keyOf(deployment), replicas, { fieldManager: SCALER_FIELD_MANAGER, signal });
  }
  return { plan, from, to: replicas };
}

/** Of pods that are ready, the ReplicaSet takes the cheapest first. Said once, just before: not with every report. */
async function markForDeletion(
  deps: ScalerDeps,
  deployment: Deployment,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  await deps.pods.patch(
    { namespace: keyOf(deployment).namespace, name },
    { type: 'merge', body: { metadata: { annotations: { [DELETION_COST]: IDLE_COST } } } },
    { fieldManager: FIELD_MANAGER, signal },
  );
}

/** Pods are known to Postgres by namespace and name. */
function namesOf(deployment: Deployment, names: readonly string[]): string[] {
  return names.map((name) => formatKey({ namespace: keyOf(deployment).namespace, name }));
}
