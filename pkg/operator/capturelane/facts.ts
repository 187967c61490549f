import { isDeleting, type Deployment, type Pod } from '../kube/index.ts';
import type { CaptureLaneObject } from '../resources/index.ts';
import { explainFailure, followRollout, isReady, isRolloutStuck } from './pods.ts';
import type { LaneMemory } from './memory.ts';
import type { LaneProblem } from './resolve.ts';
import type { LaneFacts } from './verdicts.ts';

/** What is so with a lane at the end of a pass: what its status says. */
export type Observed = LaneFacts & {
  busyPods: number;
  waiting: number | null;
  running: number | null;
  lastActiveMs: number | null;
};

type Given = {
  resource: CaptureLaneObject;
  takenBy: string | null;
  problem: LaneProblem | null;
  deployment: Deployment | undefined;
  pods: readonly Pod[];
  memory: LaneMemory;
};

export function observeLane({ resource, takenBy, problem, deployment, pods, memory }: Given): Observed {
  const { spec } = resource;
  const alive = pods.filter((pod) => !isDeleting(pod));
  const { last } = memory;
  const choice = last?.scaled.plan.choice;
  return {
    suspended: spec.suspend,
    takenBy,
    surface: spec.surface,
    problem,
    hasPods: deployment !== undefined,
    minReplicas: spec.scaling.minReplicas,
    desired: choice?.replicas ?? 0,
    replicas: alive.length,
    ready: alive.filter(isReady).length,
    failure: explainFailure(deployment, pods),
    rollout: followRollout(deployment),
    rolloutStuck: isRolloutStuck(deployment),
    scaling: deployment === undefined ? null : (choice?.reason ?? null),
    databaseProblem: last?.look.problem ?? null,
    notes: takenBy === null ? (last?.look.notes ?? []) : [],
    busyPods: last?.scaled.plan.busyPods ?? 0,
    waiting: last?.look.demand?.waiting ?? null,
    running: last?.look.demand?.running ?? null,
    lastActiveMs: memory.scaling.lastActiveMs,
  };
}
