import type { Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { cancelManagedWatches } from '../../watches/index.ts';
import {
  addFinalizer,
  conditionOf,
  formatKey,
  hasFinalizer,
  isDeleting,
  keyOf,
  removeFinalizer,
  type Applier,
  type EventRecorder,
  type Key,
  type ResourceClient,
  type Result,
  type Verdict,
} from '../kube/index.ts';
import type { WatchObject, WatchStatusFields } from '../resources/index.ts';
import { managerOf, mirrorWatch, type MirrorDeps } from './mirror.ts';
import { buildWatchStatus, judgeUnknown, judgeWatch, keepWatchStatus } from './status.ts';

/** Holds the resource until the watch in Postgres is canceled. To let it go by hand: docs/operator.md. */
export const FINALIZER = 'searchcapture.io/cancel-watch';

/** What hinders it may end without the resource or its Secret changing: another watch goes, or a plan is raised. */
const LIMIT_RETRY_MS = 120_000;

export type WatchReconcilerDeps = Omit<MirrorDeps, 'beforeCreate'> & {
  watch(key: Key): WatchObject | undefined;
  /** Resolves when `watch` gives this version, or soon. */
  shows(resource: WatchObject, signal: AbortSignal): Promise<void>;
  watches: ResourceClient<WatchObject>;
  applier: Applier;
  events: EventRecorder;
  /** Why Postgres has not been there to be asked for some time; null while it is. */
  databaseProblem(): string | null;
  /** Remembers which key a resource acts with, to wake it when that key is revoked. */
  rememberKey(resource: Key, keyId: string | null): void;
  clock: Clock;
  log: Logger;
};

/** Mirrors Watch resources into Postgres, and what becomes of them back into their status. */
export function createWatchReconciler(deps: WatchReconcilerDeps): (key: Key, signal: AbortSignal) => Promise<Result> {
  return async (key, signal) => {
    const resource = deps.watch(key);
    if (resource === undefined) {
      deps.rememberKey(key, null);
      return {};
    }
    if (isDeleting(resource)) return letGo(deps, resource, signal);
    const away = deps.databaseProblem();
    if (away !== null) {
      const verdicts = judgeUnknown(resource, away);
      await writeStatus(deps, resource, verdicts, keepWatchStatus(resource, verdicts, deps.clock.nowMs()), signal);
      return {};
    }
    let written = resource;
    const beforeCreate = async (object: WatchObject): Promise<void> => {
      written = await addFinalizer(deps.watches, object, FINALIZER, { signal });
    };
    const mirrored = await mirrorWatch({ ...deps, beforeCreate }, resource);
    deps.rememberKey(key, mirrored.keyId);
    if (written !== resource) await deps.shows(written, signal);
    const verdicts = judgeWatch(resource, mirrored);
    const status = buildWatchStatus(resource, mirrored, verdicts, deps.clock.nowMs());
    await writeStatus(deps, resource, verdicts, status, signal);
    return mirrored.problem?.reason === 'LimitExceeded' ? { requeueAfterMs: LIMIT_RETRY_MS } : {};
  };
}

async function letGo(deps: WatchReconcilerDeps, resource: WatchObject, signal: AbortSignal): Promise<Result> {
  if (!hasFinalizer(resource, FINALIZER)) return {};
  await cancelManagedWatches(deps.db.system, managerOf(keyOf(resource)), null);
  await removeFinalizer(deps.watches, resource, FINALIZER, { signal });
  deps.rememberKey(keyOf(resource), null);
  deps.log.info({ watch: formatKey(keyOf(resource)) }, 'Canceled the watch of a deleted resource');
  return {};
}

async function writeStatus(
  deps: WatchReconcilerDeps,
  resource: WatchObject,
  verdicts: readonly Verdict[],
  status: WatchStatusFields,
  signal: AbortSignal,
): Promise<void> {
  const { change } = await deps.applier.ensureStatus(
    deps.watches,
    resource,
    { metadata: keyOf(resource), status },
    { signal },
  );
  if (change !== 'unchanged') noteChange(deps.events, resource, verdicts);
}

function noteChange(events: EventRecorder, resource: WatchObject, verdicts: readonly Verdict[]): void {
  const ready = verdicts.find(({ type }) => type === 'Ready');
  const before = conditionOf(resource.status?.conditions, 'Ready');
  if (ready === undefined || (before?.status === ready.status && before.reason === ready.reason)) return;
  events.record({
    regarding: resource,
    type: ready.status === 'True' || ready.reason === 'Suspended' ? 'Normal' : 'Warning',
    reason: ready.reason,
    action: 'Reconcile',
    note: ready.message,
  });
}
