import type { Caller, Plans } from '../../accounts/index.ts';
import { ServiceError } from '../../contract/index.ts';
import { MANIFEST_PREFIX } from '../actor.ts';
import { createWatch, type WatchDeps } from '../create.ts';
import { cancelOtherWatches, readManagedWatches } from '../managed.ts';
import { makeWatchSo, type ManagingActor, type MirrorDeps } from '../mirror.ts';
import type { WatchManifest } from './load.ts';

export type Applied = {
  created: number;
  changed: number;
  unchanged: number;
  /** Their documents are gone. */
  canceled: number;
  /** What could not be made so, in words that name the file; each such watch runs on as it was. */
  problems: string[];
};

/**
 * Makes the watches of `owner` those of the manifests, by the use cases of REST and with no more authority than the key
 * of `owner` has. Watches whose document is gone, or that belonged to another account, are canceled.
 */
export async function applyWatchManifests(
  deps: WatchDeps & { plans: Plans },
  owner: Caller,
  manifests: readonly WatchManifest[],
): Promise<Applied> {
  const prefix = MANIFEST_PREFIX;
  const kept = manifests.map(({ name }) => `${prefix}${name}`);
  // First, so that what is gone leaves its room to what is new.
  const canceled = await cancelOtherWatches(deps.db.system, { prefix, accountId: owner.accountId, kept });
  const applied: Applied = { created: 0, changed: 0, unchanged: 0, canceled, problems: [] };
  for (const manifest of manifests) {
    try {
      applied[await applyOne(deps, owner, manifest)] += 1;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      applied.problems.push(`${manifest.where}: ${error.message}`);
    }
  }
  return applied;
}

async function applyOne(
  deps: WatchDeps & { plans: Plans },
  owner: Caller,
  manifest: WatchManifest,
): Promise<'created' | 'changed' | 'unchanged'> {
  const actor: ManagingActor = {
    accountId: owner.accountId,
    metered: owner.mode !== 'internal',
    plan: deps.plans.get(owner.plan),
    managedBy: `${MANIFEST_PREFIX}${manifest.name}`,
  };
  const [existing] = await readManagedWatches(deps.db.system, [actor.managedBy]);
  const creating: MirrorDeps = { ...deps, createWatch: (by, draft) => createWatch(deps, by, draft) };
  const watch = await makeWatchSo(creating, actor, manifest, existing?.watch ?? null);
  if (existing === undefined) return 'created';
  return watch === existing.watch ? 'unchanged' : 'changed';
}
