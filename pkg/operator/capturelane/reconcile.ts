import { NO_MEMORY, publishLane, withdrawLane, type ScalingMemory } from '../../lanes/index.ts';
import { withDeadline, type Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import {
  formatKey,
  isDeleting,
  isFailure,
  keyOf,
  type Deployment,
  type Key,
  type Pod,
  type Result,
} from '../kube/index.ts';
import type { CaptureLaneObject } from '../resources/index.ts';
import type { LaneChildren } from './ensure.ts';
import { observeLane, type Observed } from './facts.ts';
import type { Look } from './look.ts';
import type { LaneMemory } from './memory.ts';
import { describePods, followRollout } from './pods.ts';
import { resolveLane, type Lookups } from './resolve.ts';
import { scaleLane, type ScalerDeps } from './scaler.ts';
import { chooseSpeaker } from './speaker.ts';
import type { LaneReport } from './report.ts';

/** The cluster, as the informers show it. */
export type LaneWorld = Lookups & {
  lane(key: Key): CaptureLaneObject | undefined;
  lanesOf(surface: string): readonly CaptureLaneObject[];
  deployment(lane: Key): Deployment | undefined;
  pods(lane: Key): readonly Pod[];
};

export type LaneReconcilerDeps = ScalerDeps & {
  world: LaneWorld;
  children: LaneChildren;
  look(surface: CaptureLaneObject['spec']['surface']): Promise<Look>;
  report: LaneReport;
  clock: Clock;
  log: Logger;
};

const PUBLISH_TIMEOUT_MS = 5_000;

/** Makes everything of one lane as its CaptureLane wants it (design, "Custom resources"). */
export function createLaneReconciler(deps: LaneReconcilerDeps): (key: Key, signal: AbortSignal) => Promise<Result> {
  const memories = new Map<string, LaneMemory>();

  return async (key, signal) => {
    const name = formatKey(key);
    const resource = deps.world.lane(key);
    if (resource === undefined || isDeleting(resource)) {
      memories.delete(name);
      deps.report.forget(key);
      // The cluster deletes what the lane owns; only what Postgres says of it is left to us.
      await withdrawLane(deps.sql, name);
      return {};
    }
    const memory = memories.get(name) ?? { scaling: recall(resource), last: null };
    memories.set(name, memory);
    try {
      return await reconcileLane(deps, resource, memory, signal);
    } catch (error) {
      // Deleted meanwhile: the pass that its deletion brings cleans up.
      if (isFailure(error, 'notFound') && deps.world.lane(key)?.metadata.uid !== resource.metadata.uid) return {};
      throw error;
    }
  };
}

/** The cooldown goes on where an earlier leader left it. */
function recall({ status }: CaptureLaneObject): ScalingMemory {
  const lastActiveMs = status?.lastActiveAt === undefined ? null : Date.parse(status.lastActiveAt);
  return { ...NO_MEMORY, lastActiveMs };
}

async function reconcileLane(
  deps: LaneReconcilerDeps,
  resource: CaptureLaneObject,
  memory: LaneMemory,
  signal: AbortSignal,
): Promise<Result> {
  const key = keyOf(resource);
  const takenBy = findOtherSpeaker(deps.world, resource);
  const resolved = takenBy === null ? resolveLane(resource, deps.world) : null;
  const existing = deps.world.deployment(key);
  // A lane that may not serve, or can't, keeps what it has and gets nothing new.
  const deployment =
    resolved === null || 'reason' in resolved ? existing : await deps.children.ensure(resource, resolved, signal);
  if (deployment !== undefined) await scaleWhenDue(deps, { resource, deployment, memory, takenBy }, signal);
  const observed = observeLane({
    resource,
    takenBy,
    problem: resolved !== null && 'reason' in resolved ? resolved : null,
    deployment,
    pods: deps.world.pods(key),
    memory,
  });
  const publishProblem = await publish(deps, resource, observed);
  await deps.report.write(
    resource,
    { ...observed, databaseProblem: observed.databaseProblem ?? publishProblem },
    signal,
  );
  if (deployment === undefined && publishProblem === null) return {};
  return { requeueAfterMs: untilNextLook(deps, resource, memory, deployment) };
}

function findOtherSpeaker(world: LaneWorld, resource: CaptureLaneObject): string | null {
  const speaker = chooseSpeaker(world.lanesOf(resource.spec.surface));
  if (speaker === undefined || speaker.metadata.uid === resource.metadata.uid) return null;
  return formatKey(keyOf(speaker));
}

type Due = {
  resource: CaptureLaneObject;
  deployment: Deployment;
  memory: LaneMemory;
  takenBy: string | null;
};

/** Looks and acts once in each poll, however often the lane is looked after in between; at once for a new spec. */
async function scaleWhenDue(
  deps: LaneReconcilerDeps,
  { resource, deployment, memory, takenBy }: Due,
  signal: AbortSignal,
): Promise<void> {
  const { spec, metadata } = resource;
  const generation = metadata.generation ?? 0;
  const nowMs = deps.clock.nowMs();
  if (memory.last?.generation === generation && nowMs < memory.last.atMs + spec.scaling.pollSeconds * 1000) return;
  const look = await deps.look(spec.surface);
  const scaled = await scaleLane(
    deps,
    {
      spec: takenBy === null ? spec : { ...spec, suspend: true },
      deployment,
      look,
      pods: describePods(deps.world.pods(keyOf(resource)), look.pods),
      memory: memory.scaling,
      rollingOut: followRollout(deployment) === 'underWay',
      nowMs,
    },
    signal,
  );
  memory.scaling = scaled.plan.choice.memory;
  memory.last = { look, scaled, atMs: nowMs, generation };
  deps.report.noteScaling(resource, scaled);
}

/** Tells the API what it needs to know of the surface; resolves to what went wrong, or null. */
async function publish(
  deps: LaneReconcilerDeps,
  resource: CaptureLaneObject,
  observed: Observed,
): Promise<string | null> {
  if (observed.takenBy !== null) return null;
  // Without any pods of an earlier document there is nobody who could ever take a capture.
  if (observed.problem !== null && !observed.hasPods) return null;
  const { spec, metadata } = resource;
  try {
    await withDeadline(
      publishLane(deps.sql, {
        surface: spec.surface,
        name: metadata.name,
        driver: spec.driver,
        live: !spec.suspend,
        unavailableReason: observed.ready === 0 ? observed.failure : null,
        queueSeconds: spec.timeouts.queueSeconds,
        managedBy: formatKey(keyOf(resource)),
      }),
      PUBLISH_TIMEOUT_MS,
      'publishing the lane',
    );
    return null;
  } catch (error) {
    deps.log.warn({ err: error, lane: formatKey(keyOf(resource)) }, 'Could not publish the lane');
    return error instanceof Error ? error.message : String(error);
  }
}

function untilNextLook(
  { clock }: LaneReconcilerDeps,
  { spec }: CaptureLaneObject,
  { last }: LaneMemory,
  deployment: Deployment | undefined,
): number {
  const pollMs = spec.scaling.pollSeconds * 1000;
  if (deployment === undefined || last === null) return pollMs;
  return Math.max(100, last.atMs + pollMs - clock.nowMs());
}
