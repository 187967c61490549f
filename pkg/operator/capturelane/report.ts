import type { Clock } from '../../runtime/index.ts';
import {
  conditionOf,
  formatKey,
  keyOf,
  secondsTime,
  setConditions,
  type Applier,
  type CallOptions,
  type Desired,
  type EventRecorder,
  type Key,
  type ResourceClient,
  type Verdict,
} from '../kube/index.ts';
import type { CaptureLaneObject, CaptureLaneStatus } from '../resources/index.ts';
import type { Observed } from './facts.ts';
import type { LaneMetrics } from './metrics.ts';
import { formatSelector, podSelector } from './names.ts';
import type { Scaled } from './scaler.ts';
import { judgeLane } from './verdicts.ts';

export type LaneReportDeps = {
  lanes: ResourceClient<CaptureLaneObject>;
  applier: Applier;
  events: EventRecorder;
  metrics: LaneMetrics;
  clock: Clock;
};

/** Tells people what is so with a lane: its status, events where something changed, and numbers. */
export type LaneReport = {
  write(resource: CaptureLaneObject, observed: Observed, signal: AbortSignal): Promise<void>;
  noteScaling(resource: CaptureLaneObject, scaled: Scaled): void;
  forget(lane: Key): void;
};

/** While something runs its time moves with every look; the status follows this coarsely. */
const ACTIVE_STEP_MS = 30_000;

export function createLaneReport(deps: LaneReportDeps): LaneReport {
  return {
    write: async (resource, observed, signal) => {
      deps.metrics.observe(resource, observed);
      const verdicts = judgeLane(observed);
      const status = buildStatus(resource, observed, verdicts, deps.clock.nowMs());
      const desired: Desired<CaptureLaneObject> = { metadata: keyOf(resource), status };
      const options: CallOptions = { signal };
      const { change } = await deps.applier.ensureStatus(deps.lanes, resource, desired, options);
      // After the status: an event must not tell of what a failed write has not made so.
      if (change !== 'unchanged') noteChanges(deps.events, resource, verdicts);
    },
    noteScaling: (resource, { plan, from, to }) => {
      if (from === to) return;
      const up = to > from;
      deps.metrics.countScaling(resource, up ? 'up' : 'down');
      deps.events.record({
        regarding: resource,
        type: 'Normal',
        reason: up ? 'ScaledUp' : 'ScaledDown',
        action: 'Scale',
        note: `From ${from} to ${to} pods (${plan.choice.reason})`,
      });
    },
    forget: (lane) => deps.metrics.forget(formatKey(lane)),
  };
}

function buildStatus(
  resource: CaptureLaneObject,
  observed: Observed,
  verdicts: readonly Verdict[],
  nowMs: number,
): CaptureLaneStatus {
  const generation = resource.metadata.generation ?? 0;
  const lastActiveAt = chooseActiveTime(resource.status?.lastActiveAt, observed);
  return {
    observedGeneration: generation,
    conditions: setConditions(resource.status?.conditions, verdicts, { generation, nowMs }),
    replicas: observed.replicas,
    readyReplicas: observed.ready,
    desiredReplicas: observed.desired,
    busyReplicas: observed.busyPods,
    ...(observed.waiting === null ? {} : { waiting: observed.waiting }),
    ...(observed.running === null ? {} : { running: observed.running }),
    selector: formatSelector(podSelector(keyOf(resource))),
    ...(lastActiveAt === undefined ? {} : { lastActiveAt }),
  };
}

function chooseActiveTime(
  before: string | undefined,
  { lastActiveMs, waiting, running }: Observed,
): string | undefined {
  if (lastActiveMs === null) return before;
  const active = (waiting ?? 0) + (running ?? 0) > 0;
  if (before !== undefined && active && lastActiveMs - Date.parse(before) < ACTIVE_STEP_MS) return before;
  return secondsTime(lastActiveMs);
}

/** One event for each condition whose status or reason is another than before. */
function noteChanges(events: EventRecorder, resource: CaptureLaneObject, verdicts: readonly Verdict[]): void {
  for (const verdict of verdicts) {
    // Scaling has events of its own, with numbers.
    if (verdict.type === 'ScalingActive' || verdict.type === 'Progressing') continue;
    const before = conditionOf(resource.status?.conditions, verdict.type);
    if (before?.status === verdict.status && before.reason === verdict.reason) continue;
    const badWhenTrue = verdict.type !== 'Ready';
    if (badWhenTrue && verdict.status === 'False' && before === undefined) continue;
    const bad = verdict.status !== (badWhenTrue ? 'False' : 'True');
    events.record({
      regarding: resource,
      type: bad && verdict.reason !== 'Suspended' ? 'Warning' : 'Normal',
      reason: verdict.reason,
      action: 'Reconcile',
      note: verdict.message,
    });
  }
}
