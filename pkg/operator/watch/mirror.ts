import type { Caller, Plans } from '../../accounts/index.ts';
import { parseWatchCreate, ServiceError, type WatchDraft } from '../../contract/index.ts';
import {
  cancelManagedWatches,
  makeWatchSo,
  pauseManagedWatches,
  type CreateWatch,
  type ManagedWatch,
  type ManagingActor,
  type WatchDeps,
} from '../../watches/index.ts';
import { formatKey, keyOf, type Key, type Secret } from '../kube/index.ts';
import type { WatchObject } from '../resources/index.ts';

export type MirrorDeps = WatchDeps & {
  plans: Plans;
  /** The watches of a resource in Postgres, by the name that `managerOf` gives it. */
  readWatches(managedBy: string): Promise<readonly ManagedWatch[]>;
  createWatch: CreateWatch;
  /** Whose API key this is; null for one that is unknown or revoked. */
  findCaller(apiKey: string): Promise<Caller | null>;
  secret(key: Key): Secret | undefined;
  /** Called before anything is made that must be cleaned up. */
  beforeCreate(resource: WatchObject): Promise<void>;
};

/** Why the watch is not as its resource wants it, in words that say what to do. */
export type WatchProblem = {
  reason: 'SecretMissing' | 'KeyRejected' | 'KeyNotAllowed' | 'InvalidSpec' | 'IntervalTooShort' | 'LimitExceeded';
  message: string;
};

export type Mirrored = {
  problem: WatchProblem | null;
  /** The watch as it is in Postgres; null when there is none. */
  managed: ManagedWatch | null;
  /** The key that was used, to notice when it is revoked. */
  keyId: string | null;
};

/** By which a watch in Postgres names its resource. */
export function managerOf(key: Key): string {
  return `watches.searchcapture.io/${formatKey(key)}`;
}

/**
 * Makes the watch in Postgres as its resource wants it, through the use cases of REST and with no more authority than
 * the resource's API key. What only a person can put right is an answer; what may pass is thrown.
 */
export async function mirrorWatch(deps: MirrorDeps, resource: WatchObject): Promise<Mirrored> {
  const managedBy = managerOf(keyOf(resource));
  const found = await deps.readWatches(managedBy);
  const caller = await authenticate(deps, resource);
  if ('reason' in caller) {
    // Without a good key there is no authority to run anything.
    if (await pauseManagedWatches(deps.db.system, managedBy, 'key_rejected')) return readBack(deps, managedBy, caller);
    return { problem: caller, managed: found[0] ?? null, keyId: null };
  }
  if (found.some(({ accountId }) => accountId !== caller.accountId)) {
    await cancelManagedWatches(deps.db.system, managedBy, caller.accountId);
  }
  const existing = found.find(({ accountId }) => accountId === caller.accountId) ?? null;
  try {
    const managed = await makeSo(deps, resource, actorOf(deps, caller, managedBy), existing);
    return { problem: null, managed, keyId: caller.keyId };
  } catch (error) {
    const problem = explain(error);
    if (problem === null) throw error;
    return { problem, managed: existing, keyId: caller.keyId };
  }
}

async function authenticate(deps: MirrorDeps, resource: WatchObject): Promise<Caller | WatchProblem> {
  const { name, key } = resource.spec.apiKeySecretRef;
  const place = formatKey({ namespace: keyOf(resource).namespace, name });
  const secret = deps.secret({ namespace: keyOf(resource).namespace, name });
  if (secret === undefined) {
    return {
      reason: 'SecretMissing',
      message: `Secret ${place} does not exist. Create it with an entry "${key}" that holds an API key.`,
    };
  }
  const encoded = secret.data?.[key];
  if (encoded === undefined) {
    const keys = Object.keys(secret.data ?? {}).join(', ');
    return {
      reason: 'SecretMissing',
      message: `Secret ${place} has no entry "${key}" (it has: ${keys === '' ? 'none' : keys}). Add it, or correct spec.apiKeySecretRef.key.`,
    };
  }
  // Files and terminals add line ends; no key has any white space.
  const apiKey = Buffer.from(encoded, 'base64').toString('utf8').trim();
  const caller = await deps.findCaller(apiKey);
  if (caller === null) {
    return {
      reason: 'KeyRejected',
      message: `The API key in Secret ${place}, entry "${key}", is unknown or revoked. Put a valid one there; the watch is paused until then.`,
    };
  }
  if (!caller.scopes.includes('watches:write')) {
    return {
      reason: 'KeyNotAllowed',
      message: `The API key in Secret ${place}, entry "${key}", lacks the scope watches:write. Put one there that has it; the watch is paused until then.`,
    };
  }
  return caller;
}

function actorOf({ plans }: MirrorDeps, caller: Caller, managedBy: string): ManagingActor {
  return {
    accountId: caller.accountId,
    metered: caller.mode !== 'internal',
    plan: plans.get(caller.plan),
    managedBy,
  };
}

/** Creates or changes the watch where it differs; resolves to it as it is then. */
async function makeSo(
  deps: MirrorDeps,
  resource: WatchObject,
  actor: ManagingActor,
  existing: ManagedWatch | null,
): Promise<ManagedWatch> {
  const wanted = { draft: draftOf(resource), suspended: resource.spec.suspend === true };
  if (existing === null) await deps.beforeCreate(resource);
  const watch = await makeWatchSo(deps, actor, wanted, existing?.watch ?? null);
  const { managedBy, accountId } = actor;
  return { ...(existing ?? { managedBy, accountId, lastOutcome: null, lastDetail: null }), watch };
}

/** The same rules as for REST judge it, so that a resource can't have what a request can't. */
function draftOf({ spec }: WatchObject): WatchDraft {
  return parseWatchCreate({
    query: spec.query,
    surfaces: spec.surfaces,
    schedule: spec.schedule,
    ...(spec.name === undefined ? {} : { name: spec.name }),
    ...(spec.regions === undefined ? {} : { regions: spec.regions }),
    ...(spec.extract === undefined ? {} : { extract: spec.extract }),
    ...(spec.webhookUrl === undefined ? {} : { webhookUrl: spec.webhookUrl }),
  });
}

function explain(error: unknown): WatchProblem | null {
  if (!(error instanceof ServiceError)) return null;
  const { code, message } = error;
  if (code === 'WATCH_LIMIT_EXCEEDED') return { reason: 'LimitExceeded', message };
  if (code === 'WATCH_INTERVAL_TOO_SHORT')
    return { reason: 'IntervalTooShort', message: `${message}. Raise spec.schedule.` };
  const ofSpec = ['VALIDATION_FAILED', 'UNSUPPORTED_SURFACE', 'TOO_MANY_REGIONS', 'QUERY_TOO_LONG'].includes(code);
  return ofSpec ? { reason: 'InvalidSpec', message: `spec: ${message}` } : null;
}

async function readBack(deps: MirrorDeps, managedBy: string, problem: WatchProblem): Promise<Mirrored> {
  const [managed = null] = await deps.readWatches(managedBy);
  return { problem, managed, keyId: null };
}
