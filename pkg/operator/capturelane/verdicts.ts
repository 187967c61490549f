import type { ScalingReason } from '../../lanes/index.ts';
import type { Verdict } from '../kube/index.ts';
import type { LaneProblem } from './resolve.ts';
import type { Rollout } from './pods.ts';

/** All that the conditions of a lane are made of. */
export type LaneFacts = {
  suspended: boolean;
  /** `namespace/name` of the lane that speaks for the surface in this one's place; null when this one does. */
  takenBy: string | null;
  surface: string;
  problem: LaneProblem | null;
  /** Pods of an earlier, valid document still work. */
  hasPods: boolean;
  minReplicas: number;
  desired: number;
  replicas: number;
  ready: number;
  /** Why pods don't come up; null when nothing is known to be wrong. */
  failure: string | null;
  rollout: Rollout;
  rolloutStuck: boolean;
  scaling: ScalingReason | null;
  /** Why Postgres could not be asked; null when it could. */
  databaseProblem: string | null;
  /** What the pods want their operator to know although they work. */
  notes: readonly string[];
};

/** The conditions of a lane, each with what to do next. */
export function judgeLane(facts: LaneFacts): Verdict[] {
  return [judgeReady(facts), judgeProgress(facts), judgeHealth(facts), judgeScaling(facts), judgeNotes(facts)];
}

function judgeReady(facts: LaneFacts): Verdict {
  const is = (status: Verdict['status'], reason: string, message: string): Verdict => ({
    type: 'Ready',
    status,
    reason,
    message,
  });
  const { problem, failure, ready } = facts;
  if (facts.takenBy !== null) {
    return is(
      'False',
      'SurfaceTaken',
      `${facts.surface} is served by the CaptureLane ${facts.takenBy}. Delete or suspend that one to have this one take over, or delete this one.`,
    );
  }
  if (problem !== null) {
    const rest = facts.hasPods ? ' Until then the lane goes on with what it had before.' : '';
    return is('False', problem.reason, `${problem.message}${rest}`);
  }
  if (facts.suspended) {
    return is(
      'False',
      'Suspended',
      `Searches for ${facts.surface} are refused. Set spec.suspend to false to serve it.`,
    );
  }
  if (facts.databaseProblem !== null) {
    return is(
      'Unknown',
      'DatabaseUnreachable',
      `The controller can't ask Postgres what waits (${facts.databaseProblem}). The pods are left alone. Check Postgres and the controller's DATABASE_URL.`,
    );
  }
  if (ready > 0) return is('True', 'PodsReady', 'Captures are taken.');
  if (failure !== null) return is('False', 'PodsFailing', failure);
  if (facts.minReplicas === 0 && facts.desired === 0) {
    return is('True', 'Idle', 'No pod runs, as nothing waits. The first capture that waits starts one.');
  }
  if (facts.minReplicas === 0) return is('True', 'PodsStarting', 'Captures wait for the first pod, which is starting.');
  return is(
    'False',
    'PodsStarting',
    'No pod is ready yet. Look at the pods with: kubectl get pods -l searchcapture.io/lane',
  );
}

function judgeProgress({ rollout, desired, ready, replicas, takenBy, problem, rolloutStuck }: LaneFacts): Verdict {
  const is = (status: Verdict['status'], reason: string, message: string): Verdict => ({
    type: 'Progressing',
    status,
    reason,
    message,
  });
  if (takenBy !== null || problem !== null) return is('False', 'NotServing', 'See the condition Ready.');
  if (rolloutStuck)
    return is('False', 'RolloutStuck', 'New pods have not come up for ten minutes. See the condition Degraded.');
  if (rollout === 'underWay')
    return is('True', 'RollingOut', 'Pods are replaced one by one; each finishes its captures first.');
  if (ready < desired) return is('True', 'ScalingUp', 'More pods are starting.');
  if (replicas > desired) return is('True', 'ScalingDown', 'Pods are drained; each goes once it is idle.');
  return is('False', 'UpToDate', 'The pods are as they shall be.');
}

function judgeHealth({ failure, rolloutStuck, databaseProblem }: LaneFacts): Verdict {
  const is = (status: Verdict['status'], reason: string, message: string): Verdict => ({
    type: 'Degraded',
    status,
    reason,
    message,
  });
  if (failure !== null) return is('True', 'PodsFailing', failure);
  if (rolloutStuck) {
    return is(
      'True',
      'RolloutStuck',
      'New pods have not come up for ten minutes, the old ones go on. Look at the newest pod with: kubectl describe pod',
    );
  }
  if (databaseProblem !== null) {
    return is(
      'True',
      'DatabaseUnreachable',
      `Postgres could not be asked: ${databaseProblem}. The lane is not scaled until it can.`,
    );
  }
  return is('False', 'AsExpected', 'Nothing is known to be wrong.');
}

const SCALING_WORDS: Readonly<Record<ScalingReason, string>> = {
  Suspended: 'The lane is suspended: its pods go once they are idle.',
  FixedReplicas: 'spec.replicas fixes the number of pods. Remove it to scale by demand.',
  DemandUnknown: 'What waits and runs could not be read; the number of pods stays as it is.',
  Fallback: 'What waits and runs could not be read for some time; spec.scaling.fallback applies.',
  Idle: 'Nothing waits or runs.',
  CoolingDown: 'Nothing waits or runs; the last pod goes after spec.scaling.cooldownSeconds.',
  BelowActivation: 'Fewer captures wait than spec.scaling.activationQueue, so no pod is started.',
  Stabilizing: 'Fewer pods would do; some go when that holds for spec.scaling.stabilizationSeconds.',
  BusyPods: 'Fewer pods would do, but they are busy; they go once they are idle.',
  AtMaximum: 'More is asked for than spec.scaling.maxReplicas pods are meant for. Raise it if captures wait too long.',
  FollowsDemand: 'There are as many pods as what waits and runs needs.',
};
const INACTIVE: ReadonlySet<ScalingReason> = new Set(['Suspended', 'FixedReplicas', 'DemandUnknown', 'Fallback']);

function judgeScaling({ scaling }: LaneFacts): Verdict {
  if (scaling === null) {
    return { type: 'ScalingActive', status: 'False', reason: 'NotServing', message: 'See the condition Ready.' };
  }
  const status = INACTIVE.has(scaling) ? 'False' : 'True';
  return { type: 'ScalingActive', status, reason: scaling, message: SCALING_WORDS[scaling] };
}

function judgeNotes({ notes }: LaneFacts): Verdict {
  const type = 'Attention';
  if (notes.length > 0) return { type, status: 'True', reason: 'PodsReport', message: notes.join(' ') };
  return { type, status: 'False', reason: 'NothingReported', message: 'The pods work as they should.' };
}
