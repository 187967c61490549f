import {
  ERRORS,
  fingerprint,
  parseSearchBody,
  ServiceError,
  type ErrorCode,
  type SearchMethod,
  type SearchRequest,
  type Surface,
} from '../contract/index.ts';
import type { AccountLoad } from '../credits/index.ts';
import type { Keyring } from '../config/index.ts';
import type { Announcement, Announcer } from '../queue/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { requireDestination, resolveSigningSecret, sealInlineSecret, type Guard } from '../webhooks/index.ts';
import { acceptSearches, isKeyTaken, type Accepted, type AcceptDeps, type Acceptor, type NewSearch } from './accept.ts';
import type { AcceptOne } from './gather.ts';
import { announceSoon } from './sweep.ts';

/** What a search needs to know of a surface's lane. */
export type LaneFacts = { live: boolean; unavailableReason: string | null; queueSeconds: number };

export type SubmitDeps = AcceptDeps & {
  /** For searches that are submitted one by one (`gatherSubmits`). */
  acceptOne: AcceptOne;
  announcer: Announcer;
  guard: Guard;
  keyring: Keyring;
  lanes: () => Promise<ReadonlyMap<Surface, LaneFacts>>;
  log: Logger;
};

export type Submitter = Acceptor;

export type Submission = {
  request: SearchRequest;
  method: SearchMethod;
  waitSeconds: number;
  /** Stands before the paths of faults, for example `items[3].`. */
  pathPrefix?: string;
};

/** Accepts one validated search and tells its lanes. Throws the `ServiceError` of the gate or rule that refuses it. */
export async function submitSearch(
  deps: SubmitDeps,
  submitter: Submitter,
  submission: Submission,
): Promise<{ accepted: Accepted; load: AccountLoad }> {
  const search = await prepareSearch(deps, submitter, submission);
  const { accepted, load } = await deps.acceptOne(submitter, search);
  await announce(deps, accepted.announcements);
  return { accepted, load };
}

/** The verdict of one item of a batch, by its place in the call. */
export type BatchVerdict = { accepted: Accepted } | { rejected: ServiceError };

/**
 * Accepts the items of a batch that validate, all in one transaction, and says of each what became of it. A bad item
 * affects no other; too few credits or too little room refuse the whole call (spec 4.3).
 */
export async function submitBatch(
  deps: SubmitDeps,
  submitter: Submitter,
  items: readonly unknown[],
): Promise<{ verdicts: BatchVerdict[]; load: AccountLoad }> {
  const prepared: (NewSearch | ServiceError)[] = [];
  for (const [index, item] of items.entries()) prepared.push(await prepareItem(deps, submitter, item, index));
  const searches = prepared.filter((search): search is NewSearch => !(search instanceof ServiceError));
  const outcome = await acceptSearches(deps, submitter, searches);
  const verdicts = outcome.verdicts.values();
  const merged = prepared.map((search): BatchVerdict => {
    if (search instanceof ServiceError) return { rejected: search };
    const verdict = verdicts.next().value;
    if (verdict === undefined) throw new Error('every accepted item has a verdict');
    return verdict;
  });
  await announce(
    deps,
    merged.flatMap((verdict) => ('accepted' in verdict ? verdict.accepted.announcements : [])),
  );
  return { verdicts: merged, load: outcome.load };
}

async function prepareItem(
  deps: SubmitDeps,
  submitter: Submitter,
  item: unknown,
  index: number,
): Promise<NewSearch | ServiceError> {
  try {
    const request = parseSearchBody(item, { path: `items[${index}]` });
    return await prepareSearch(deps, submitter, {
      request,
      method: 'batch',
      waitSeconds: 0,
      pathPrefix: `items[${index}].`,
    });
  } catch (error) {
    // What hinders this item alone: without a secret the items of no webhook still run. A database that is away is not.
    const isOwn = (code: ErrorCode): boolean => !ERRORS[code].retryable || code === 'WEBHOOK_SECRET_UNAVAILABLE';
    if (error instanceof ServiceError && isOwn(error.code)) return error;
    throw error;
  }
}

async function prepareSearch(
  deps: SubmitDeps,
  submitter: Submitter,
  { request, method, waitSeconds, pathPrefix = '' }: Submission,
): Promise<NewSearch> {
  const lanes = await deps.lanes();
  const { webhook, idempotencyKey } = request;
  try {
    for (const surface of request.surfaces) requireLane(surface, lanes.get(surface), method);
    if (webhook !== null) await requireWebhook(deps, submitter, webhook, `${pathPrefix}webhook.url`);
  } catch (error) {
    // Whatever has become of the lane or the webhook since, it is the same job that is asked for again.
    const known = idempotencyKey !== null && (await isKeyTaken(deps.db.system, submitter.accountId, idempotencyKey));
    if (!known) throw error;
  }
  return {
    query: request.query,
    surfaces: request.surfaces,
    regions: request.regions,
    extract: request.extract,
    wantsHtml: request.include.html,
    webhook:
      webhook === null
        ? null
        : { url: webhook.url, sealSecret: sealerOf(deps.keyring, submitter.accountId, webhook.secret) },
    idempotency: idempotencyKey === null ? null : { key: idempotencyKey, fingerprint: fingerprint(request) },
    method,
    queueSeconds: (surface) => (method === 'sync' ? waitSeconds : (lanes.get(surface)?.queueSeconds ?? waitSeconds)),
  };
}

/** May the webhook go there, and can it be signed? */
async function requireWebhook(
  { guard, db, keyring }: SubmitDeps,
  { accountId }: Submitter,
  { url, secret }: { url: string; secret: string | null },
  path: string,
): Promise<void> {
  await requireDestination(guard, url, path);
  // Looked up now, because a delivery that can't be signed later would be a promise broken in silence (spec 6.6).
  if (secret === null) await resolveSigningSecret(db.system, { accountId, keyring });
}

function requireLane(surface: Surface, lane: LaneFacts | undefined, method: SearchMethod): void {
  if (lane?.live !== true) {
    throw new ServiceError(
      'UNSUPPORTED_METHOD_FOR_SURFACE',
      `${surface} has no live capture path. GET /v1/surfaces tells which have.`,
    );
  }
  // An asynchronous search may wait for the lane to recover; a synchronous one would only wait for nothing.
  if (method === 'sync' && lane.unavailableReason !== null) {
    throw new ServiceError('DRIVER_UNAVAILABLE', `The lane of ${surface} is unavailable.`);
  }
}

function sealerOf(keyring: Keyring, accountId: string, secret: string | null): ((jobId: string) => string) | null {
  return secret === null ? null : (jobId) => sealInlineSecret(keyring, secret, { searchId: jobId, accountId });
}

/** Redis is a hint: what can't be announced now is left to the dispatcher, which tries until it can. */
async function announce(deps: SubmitDeps, announcements: readonly Announcement[]): Promise<void> {
  try {
    await deps.announcer.announce(announcements);
  } catch (error) {
    deps.log.warn({ err: error, count: announcements.length }, 'Could not announce; the dispatcher will');
    await announceSoon(deps.db, announcements);
  }
}
