import type { Watch, WatchDraft } from '../contract/index.ts';
import type { WatchActor } from './actor.ts';
import type { CreateWatch, WatchDeps } from './create.ts';
import { pauseManagedWatches } from './managed.ts';
import { updateWatch, type WatchChange } from './update.ts';

/** What a resource or a manifest wants its watch to be. */
export type WantedWatch = { draft: WatchDraft; suspended: boolean };

export type ManagingActor = WatchActor & { managedBy: string };

export type MirrorDeps = WatchDeps & { createWatch: CreateWatch };

/**
 * Makes the watch of a resource as that wants it: creates it, or changes what differs. Resolves to the watch as it is
 * then, `existing` itself where nothing differed. Throws what `createWatch` and `updateWatch` throw.
 */
export async function makeWatchSo(
  deps: MirrorDeps,
  actor: ManagingActor,
  { draft, suspended }: WantedWatch,
  existing: Watch | null,
): Promise<Watch> {
  if (existing === null) {
    const made = await deps.createWatch(actor, draft);
    return suspended ? updateWatch(deps, actor, made.id, { status: 'paused' }) : made;
  }
  // Suspending one that ran out of credits is how a person takes it out of that state.
  const toUser = suspended && existing.status === 'paused' && existing.pausedReason !== 'user';
  if (toUser) await pauseManagedWatches(deps.db.system, actor.managedBy, 'user');
  const change = changeOf(existing, draft, suspended);
  // Also with nothing to change, to read what has just become of it.
  return toUser || Object.keys(change).length > 0 ? updateWatch(deps, actor, existing.id, change) : existing;
}

function changeOf(watch: Watch, draft: WatchDraft, suspended: boolean): WatchChange {
  const differs = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);
  const resumes = !suspended && watch.status === 'paused' && watch.pausedReason !== 'insufficient_credits';
  return {
    ...(differs(watch.name, draft.name) && { name: draft.name }),
    ...(differs(watch.query, draft.query) && { query: draft.query }),
    ...(differs(watch.surfaces, draft.surfaces) && { surfaces: draft.surfaces }),
    ...(differs(watch.regions.map(sorted), draft.regions.map(sorted)) && { regions: draft.regions }),
    ...(differs(watch.extract, draft.extract) && { extract: draft.extract }),
    ...(differs(watch.webhookUrl, draft.webhookUrl) && { webhookUrl: draft.webhookUrl }),
    ...(watch.schedule.intervalMinutes !== draft.intervalMinutes && { intervalMinutes: draft.intervalMinutes }),
    ...(suspended && watch.status === 'active' && { status: 'paused' as const }),
    ...(resumes && { status: 'active' as const }),
  };
}

/** Postgres gives the keys of a stored object in its own order. */
function sorted(value: object): [string, unknown][] {
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
