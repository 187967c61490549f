import { findCaller, loadPlans } from '../../pkg/accounts/index.ts';
import { loadSettings } from '../../pkg/config/index.ts';
import { openDatabase } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { applyWatchManifests, type Applied, type WatchManifest } from '../../pkg/watches/index.ts';
import { createWebhookGuard } from '../../pkg/webhooks/index.ts';

/**
 * Makes the demo account's watches those of the manifests, with the authority of its key: what a cluster's controller
 * does with the key of `apiKeySecretRef`, which is not read here.
 */
export async function applyWatches(
  env: NodeJS.ProcessEnv,
  key: string,
  manifests: readonly WatchManifest[],
): Promise<Applied> {
  const settings = loadSettings(env, ['databaseUrl', 'apiKeyPepper', 'plansDir', 'webhookExtraDestinations']);
  const db = openDatabase({ url: settings.databaseUrl, poolSize: 1, applicationName: 'scs-standalone' });
  try {
    const owner = await findCaller(db.system, key, settings.apiKeyPepper);
    if (owner === null) throw new Error("the demo account's key is not known, so its watches can't be made");
    const guard = createWebhookGuard(settings.webhookExtraDestinations);
    const plans = await loadPlans(settings.plansDir);
    return await applyWatchManifests({ db, clock: systemClock, guard, plans }, owner, manifests);
  } finally {
    await db.close();
  }
}

/** One line for the person who started it; null when there is nothing to tell. */
export function tellApplied({ created, changed, unchanged, canceled, problems }: Applied): string | null {
  const told = Object.entries({ created, changed, unchanged, canceled, refused: problems.length })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);
  return told.length === 0 ? null : told.join(', ');
}
