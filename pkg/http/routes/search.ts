import type { Request, Response } from 'express';
import type { Caller } from '../../accounts/index.ts';
import {
  flatten,
  isSurface,
  parsePrefer,
  parseSearchBody,
  parseSearchQuery,
  ServiceError,
  SURFACES,
  type Envelope,
  type Surface,
} from '../../contract/index.ts';
import {
  abandonSearch,
  chooseMethod,
  readEnvelopes,
  readJobState,
  submitSearch,
  type Accepted,
} from '../../searches/index.ts';
import type { ApiDeps, Exchange, Route } from '../context.ts';
import { showConcurrency, showCredits, showLoad } from '../middleware/gates.ts';
import { sendJson, type Owner } from '../owner.ts';
import { withProofUrl } from '../proof-url.ts';
import { submitterOf } from '../submitter.ts';

const BODY_LIMIT_BYTES = 2 * 1024 * 1024;

export function searchRoutes(deps: ApiDeps): Route[] {
  const common = { method: 'post', access: 'search:write', submit: true, bodyLimitBytes: BODY_LIMIT_BYTES } as const;
  return [
    {
      ...common,
      path: '/v1/search',
      handle: (submit: Submit) => search(deps, submit, null),
    },
    {
      ...common,
      path: '/v1/search/:surface',
      checkPath: readSurface,
      handle: (submit: Submit) => search(deps, submit, readSurface(submit.request)),
    },
  ];
}

type Submit = Exchange & { caller: Caller; owner: Owner };

function readSurface(request: Request): Surface {
  const surface = request.params['surface'];
  if (isSurface(surface)) return surface;
  throw new ServiceError(
    'UNSUPPORTED_SURFACE',
    `${String(surface)} is not a surface; the surfaces are ${SURFACES.join(', ')}.`,
  );
}

async function search(deps: ApiDeps, submit: Submit, alias: Surface | null): Promise<void> {
  const { request, response, body, caller, owner } = submit;
  const { mode, view } = parseSearchQuery(request.query);
  const parsed = parseSearchBody(body, alias === null ? {} : { surface: alias });
  const preferred = parsePrefer(request.get('prefer'));
  const method = chooseMethod({
    mode,
    preferWaitSeconds: preferred,
    surfaceCount: parsed.surfaces.length,
    hasWebhook: parsed.webhook !== null,
    alias: alias !== null,
  });
  const waitSeconds = preferred ?? deps.syncWaitSeconds;
  const startedMs = deps.clock.nowMs();
  const submitDeps = { ...deps, lanes: () => deps.laneBook.read() };
  const { accepted, load } = await submitSearch(submitDeps, submitterOf(deps, caller, owner), {
    request: parsed,
    method,
    waitSeconds,
  });

  response.set('Location', `/v1/jobs/${accepted.jobId}`);
  // A replay is answered as it was accepted, also when the original ran synchronously (design, "Idempotency").
  if (accepted.replayed || method === 'async') {
    showConcurrency(response, deps.plans.get(caller.plan).syncInFlight, load);
    showCredits(response, caller, 0, load);
    answerAccepted(response, owner, accepted);
    return;
  }
  if (preferred !== null) response.set('Preference-Applied', `wait=${preferred}`);
  const waitMs = Math.max(0, waitSeconds * 1000 - (deps.clock.nowMs() - startedMs));
  await answerEnded(deps, submit, accepted, { waitMs, flat: view === 'flat' });
}

function answerAccepted(response: Response, owner: Owner, accepted: Accepted): void {
  if (accepted.replayed) response.set('Idempotent-Replayed', 'true');
  response.status(202);
  sendJson(response, owner, {
    jobId: accepted.jobId,
    status: 'processing',
    children: accepted.children,
    credits: { creditsToCharge: accepted.creditsToCharge, creditsCharged: 0 },
  });
}

async function answerEnded(
  deps: ApiDeps,
  { response, caller, owner }: Submit,
  { jobId, children }: Accepted,
  { waitMs, flat }: { waitMs: number; flat: boolean },
): Promise<void> {
  const { accountId } = owner;
  const gone = new AbortController();
  // Who hangs up does not stop the job: its result can be read, or replayed by the idempotency key.
  response.on('close', () => gone.abort());
  const inTime = await deps.waiters.wait(accountId, jobId, waitMs, gone.signal);
  if (gone.signal.aborted) return;
  if (!inTime) await abandonSearch(deps, accountId, jobId);
  const ended = await readEnvelopes(deps.db, accountId, jobId);
  // Looked at after abandoning: what finished in the last moment was charged, and is answered. What nobody took in
  // time may have been ended by the sweep instead.
  const isOver = ({ job: { status } }: Envelope) => status === 'expired' || (!inTime && status === 'canceled');
  if (ended.some(({ envelope }) => isOver(envelope))) {
    throw new ServiceError(
      'SURFACE_TIMEOUT',
      'The capture did not finish within the wait. It was stopped and is not charged.',
    );
  }
  const [only] = ended;
  if (only === undefined || ended.length !== children.length)
    throw new Error(`${jobId} is terminal but has ${ended.length} results`);
  if (children.length === 1) throwIfFailed(only.envelope);

  const status = await readJobState(deps.db, accountId, jobId);
  const credits = sumCredits(ended.map(({ envelope }) => envelope));
  await showLoad(deps, response, caller, owner.accountId, credits.creditsCharged);
  const results = ended.map(({ envelope, proofKey }) =>
    flat ? flatten(envelope) : withProofUrl(envelope, proofKey, deps.publicBaseUrl),
  );
  const parent = { jobId, status };
  // Parent id and roll-up stand beside a single result, first for who reads it, last because a flat one has its own.
  if (children.length === 1) sendJson(response, owner, { ...parent, ...results[0], ...parent });
  else sendJson(response, owner, { ...parent, results, credits });
}

function sumCredits(envelopes: readonly Envelope[]): Envelope['credits'] {
  return {
    creditsToCharge: envelopes.reduce((sum, { credits }) => sum + credits.creditsToCharge, 0),
    creditsCharged: envelopes.reduce((sum, { credits }) => sum + credits.creditsCharged, 0),
  };
}

/** A synchronous search for one child fails as the child does (design, "Sync, one child"). */
function throwIfFailed({ job }: Envelope): void {
  if (job.status === 'failed' || job.status === 'canceled' || job.status === 'expired') {
    throw new ServiceError(job.error?.code ?? 'INTERNAL_ERROR', job.error?.error);
  }
}
