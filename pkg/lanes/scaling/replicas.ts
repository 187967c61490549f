import type { LaneSpec } from '../lane.ts';

/** Captures of one surface that wait (those that are retried soon among them) and run. */
export type Demand = { waiting: number; running: number };

/** What is remembered from look to look. */
export type ScalingMemory = {
  /** When something last waited or ran; null for a lane that never had any. */
  lastActiveMs: number | null;
  /** Looks in a row that could not read the demand. */
  failures: number;
  /** What earlier looks wanted, within the stabilization window. Empty after a restart, which counts as "as it is". */
  wanted: readonly { atMs: number; replicas: number }[];
};

export const NO_MEMORY: ScalingMemory = { lastActiveMs: null, failures: 0, wanted: [] };

export type ScalingReason =
  | 'Suspended'
  | 'FixedReplicas'
  | 'DemandUnknown'
  | 'Fallback'
  | 'Idle'
  | 'CoolingDown'
  | 'BelowActivation'
  | 'Stabilizing'
  | 'BusyPods'
  | 'AtMaximum'
  | 'FollowsDemand';

export type Choice = { replicas: number; reason: ScalingReason; memory: ScalingMemory };

export type ChoiceInput = {
  spec: Pick<LaneSpec, 'suspend' | 'replicas' | 'scaling'>;
  demand: Demand | null;
  busyPods: number;
  current: number;
  memory: ScalingMemory;
  nowMs: number;
};

/** How many pods a lane needs. Never fewer than are busy, whatever else is asked for. */
export function chooseReplicas(input: ChoiceInput): Choice {
  const choice = chooseFreely(input);
  if (choice.replicas >= input.busyPods) return choice;
  return { ...choice, replicas: input.busyPods, reason: 'BusyPods' };
}

function chooseFreely(input: ChoiceInput): Choice {
  const { spec, demand, memory, nowMs, busyPods } = input;
  const active = (demand !== null && demand.waiting + demand.running > 0) || busyPods > 0;
  const seen: ScalingMemory = {
    lastActiveMs: active ? nowMs : memory.lastActiveMs,
    failures: demand === null ? memory.failures + 1 : 0,
    wanted: [],
  };
  // A person's word is not smoothed.
  if (spec.suspend) return { replicas: 0, reason: 'Suspended', memory: seen };
  if (spec.replicas !== undefined) return { replicas: spec.replicas, reason: 'FixedReplicas', memory: seen };
  if (demand === null) return holdOrFallBack(input, { ...seen, wanted: memory.wanted });
  const wanted = followDemand(input, demand, seen);
  return stabilize(input, wanted, seen);
}

/** The number is left alone until it is sure that the demand can't be read; then there are at least the fallback's. */
function holdOrFallBack({ spec, current }: ChoiceInput, memory: ScalingMemory): Choice {
  const { failureThreshold, replicas } = spec.scaling.fallback;
  if (memory.failures < failureThreshold) return { replicas: current, reason: 'DemandUnknown', memory };
  return { replicas: Math.max(current, Math.min(replicas, spec.scaling.maxReplicas)), reason: 'Fallback', memory };
}

type Wanted = { replicas: number; reason: ScalingReason };

function followDemand({ spec, current, nowMs }: ChoiceInput, demand: Demand, memory: ScalingMemory): Wanted {
  const { minReplicas, maxReplicas, capturesPerPod, activationQueue, cooldownSeconds } = spec.scaling;
  const total = demand.waiting + demand.running;
  if (total === 0) {
    const idleMs = memory.lastActiveMs === null ? Infinity : nowMs - memory.lastActiveMs;
    // Only the way to zero is slow: the first pod is the one that takes long to come back.
    if (minReplicas === 0 && current > 0 && idleMs < cooldownSeconds * 1000) {
      return { replicas: 1, reason: 'CoolingDown' };
    }
    return { replicas: minReplicas, reason: 'Idle' };
  }
  if (current === 0 && minReplicas === 0 && demand.running === 0 && demand.waiting < activationQueue) {
    return { replicas: 0, reason: 'BelowActivation' };
  }
  const needed = Math.max(1, minReplicas, Math.ceil(total / capturesPerPod));
  if (needed > maxReplicas) return { replicas: maxReplicas, reason: 'AtMaximum' };
  return { replicas: needed, reason: 'FollowsDemand' };
}

/** Up at once; down to the most that was wanted within the window, so that a short lull costs no pod. */
function stabilize({ spec, current, memory, nowMs }: ChoiceInput, wanted: Wanted, seen: ScalingMemory): Choice {
  const { stabilizationSeconds, maxReplicas } = spec.scaling;
  const sinceMs = nowMs - stabilizationSeconds * 1000;
  const before = memory.wanted.length === 0 ? [{ atMs: nowMs, replicas: current }] : memory.wanted;
  const window = [...before.filter(({ atMs }) => atMs > sinceMs), { atMs: nowMs, replicas: wanted.replicas }];
  const next = { ...seen, wanted: keepPeaks(window) };
  if (wanted.replicas >= current) return { ...wanted, memory: next };
  const peak = Math.max(...window.map(({ replicas }) => replicas));
  const replicas = Math.min(peak, current, maxReplicas);
  if (replicas === wanted.replicas) return { ...wanted, memory: next };
  return { replicas, reason: 'Stabilizing', memory: next };
}

/** An entry that a later one equals or exceeds can never be the maximum again: the window stays short. */
function keepPeaks(window: readonly { atMs: number; replicas: number }[]): { atMs: number; replicas: number }[] {
  const kept: { atMs: number; replicas: number }[] = [];
  for (const entry of window) {
    while ((kept.at(-1)?.replicas ?? Infinity) <= entry.replicas) kept.pop();
    kept.push(entry);
  }
  return kept;
}
