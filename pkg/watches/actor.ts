import type { Plan } from '../accounts/index.ts';
import { invalid, ServiceError } from '../contract/index.ts';

/** In whose name watches are made and changed, by whatever way: REST, MCP, or the controller of `Watch` resources. */
export type WatchActor = {
  /** Whose watches they are. */
  accountId: string;
  /** False for an internal key: the runs of the watches it makes cost nothing. */
  metered: boolean;
  /** The plan of the key: its ceiling of active watches and its shortest interval count. */
  plan: Plan;
  /**
   * The Kubernetes resource in whose name the controller acts, for example `watches.searchcapture.io/team-a/prices`, or
   * a manifest (`MANIFEST_PREFIX`); null for everybody else. A watch is changed by the one that made it only.
   */
  managedBy: string | null;
};

/** Before the namespace and name of the manifest that a watch belongs to, on a machine without a cluster. */
export const MANIFEST_PREFIX = 'manifests.searchcapture.io/';

/** Refuses to change what belongs to a resource or manifest, and says to which (design, "Custom resources"). */
export function requireOwnWatch(actor: WatchActor, watch: { id: string; managedBy: string | null }): void {
  if (watch.managedBy === actor.managedBy) return;
  const message =
    watch.managedBy === null
      ? `${watch.id} does not belong to ${actor.managedBy ?? 'this caller'}, so that can't change it`
      : `${watch.id} is managed by ${describeManager(watch.managedBy)}`;
  throw invalid([{ path: 'id', message }]);
}

function describeManager(managedBy: string): string {
  if (!managedBy.startsWith(MANIFEST_PREFIX)) return `the Kubernetes resource ${managedBy}; change or delete it there`;
  const name = managedBy.slice(MANIFEST_PREFIX.length);
  return `the manifest of the Watch ${name}; change or delete it in its file and start the service again`;
}

/** `WATCH_INTERVAL_TOO_SHORT` below the plan's floor; the message names both (spec 7). */
export function requireInterval({ plan }: WatchActor, intervalMinutes: number): void {
  if (intervalMinutes >= plan.minWatchIntervalMinutes) return;
  throw new ServiceError(
    'WATCH_INTERVAL_TOO_SHORT',
    `schedule is every ${intervalMinutes} minutes; the plan ${plan.id} allows at least ${plan.minWatchIntervalMinutes} minutes between runs`,
  );
}

/** `WATCH_LIMIT_EXCEEDED` at the plan's ceiling of active watches. */
export function exceedsLimit({ plan }: WatchActor): ServiceError {
  return new ServiceError(
    'WATCH_LIMIT_EXCEEDED',
    `The plan ${plan.id} allows ${plan.activeWatches} active watches. Pause or cancel one first.`,
  );
}
