import type { Plans } from '../accounts/index.ts';
import type { Keyring } from '../config/index.ts';
import { ServiceError, type Surface } from '../contract/index.ts';
import type { Database, Reader } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';
import { acceptSearchesIn, type LaneFacts, type NewSearch } from '../searches/index.ts';
import { resolveSigningSecrets } from '../webhooks/index.ts';
import { claimDue, lockAccounts, type AccountStanding, type DueWatch, type HeldAccounts } from './due.ts';
import { judgeRuns, type RunVerdict } from './judge.ts';
import { recordRuns, type RunOutcome } from './record.ts';

type Lanes = ReadonlyMap<Surface, LaneFacts>;

export type BatchDeps = {
  db: Database;
  clock: Clock;
  plans: Plans;
  priceOf: (surface: Surface) => number;
  keyring: Keyring;
  /** Watches with the same tick are dispatched spread over so long; 0 at once. */
  spreadSeconds: number;
};

/** One transaction's worth: long enough that its round trips hardly count, short enough that its locks don't. */
export const BATCH = 500;

export type BatchWanted = {
  /** Whose due watches are run, at most `BATCH` of each. */
  accountIds: readonly string[];
  /** Only this watch; any when null. */
  watchId: string | null;
  held: HeldAccounts;
  /** Told of each watch that is claimed, also when the transaction then fails. */
  onClaimed: (watch: DueWatch) => void;
};

export type Batch = {
  outcomes: readonly RunOutcome[];
  /** Accounts whose watches were left out, as something else held the account. */
  left: readonly string[];
};

/**
 * Claims due watches, accepts their searches, writes the runs and moves the watches on in one transaction: a process
 * that dies leaves all of it or nothing.
 */
export function runBatch(deps: BatchDeps, lanes: Lanes, wanted: BatchWanted): Promise<Batch> {
  const { accountIds, watchId, held, onClaimed } = wanted;
  const windowSeconds = deps.spreadSeconds;
  return deps.db.inPipeline(async (sql) => {
    const [due, standings] = await Promise.all([
      claimDue(sql, { accountIds, watchId, windowSeconds, limit: BATCH }),
      lockAccounts(sql, accountIds, held),
    ]);
    due.forEach(onClaimed);
    const unsigned = await findUnsigned(sql, deps, due);
    const byAccount = Map.groupBy(due, ({ accountId }) => accountId);
    const runs = [...standings].map(([accountId, standing]) => {
      const verdicts = judgeRuns(
        byAccount.get(accountId) ?? [],
        { ...standing, queueCeiling: deps.plans.get(standing.plan).queuedChildren },
        { lanes, priceOf: deps.priceOf, canSign: !unsigned.has(accountId) },
      );
      return acceptRuns(sql, deps, { accountId, standing, lanes }, verdicts);
    });
    const outcomes = (await Promise.all(runs)).flat();
    if (outcomes.length > 0) await recordRuns(sql, outcomes, { windowSeconds, repeated: 'refuse' });
    return { outcomes, left: [...byAccount.keys()].filter((accountId) => !standings.has(accountId)) };
  });
}

type Acceptance = { accountId: string; standing: AccountStanding; lanes: Lanes };

/** Submits an account's runs that may start as any other search is; those of internal keys' watches apart, as they cost nothing. */
async function acceptRuns(
  sql: Reader,
  deps: BatchDeps,
  { accountId, standing, lanes }: Acceptance,
  verdicts: readonly RunVerdict[],
): Promise<RunOutcome[]> {
  const ceilings = { queued: deps.plans.get(standing.plan).queuedChildren, syncInFlight: 0 };
  const jobs = new Map<string, string>();
  for (const metered of [true, false]) {
    const watches = verdicts
      .filter(({ status, watch }) => status === 'dispatched' && watch.metered === metered)
      .map(({ watch }) => watch);
    if (watches.length === 0) continue;
    const searches = watches.map((watch) => toSearch(watch, lanes));
    const accepted = await acceptSearchesIn(sql, deps, { accountId, ceilings, metered }, searches);
    accepted.forEach((verdict, index) => {
      if ('rejected' in verdict) throw verdict.rejected;
      jobs.set(watches[index]?.id ?? '', verdict.accepted.jobId);
    });
  }
  return verdicts.map((verdict) => ({ ...verdict, jobId: jobs.get(verdict.watch.id) ?? null }));
}

function toSearch(watch: DueWatch, lanes: Lanes): NewSearch {
  return {
    query: watch.query,
    surfaces: watch.surfaces,
    regions: watch.regions,
    extract: watch.extract,
    wantsHtml: false,
    webhook: watch.webhookUrl === null ? null : { url: watch.webhookUrl, sealSecret: null },
    idempotency: null,
    method: 'watch',
    queueSeconds: (surface) => queueSecondsOf(lanes, surface),
  };
}

function queueSecondsOf(lanes: Lanes, surface: Surface): number {
  const lane = lanes.get(surface);
  if (lane === undefined) throw new Error(`a run on ${surface} has no lane, and should have failed`);
  return lane.queueSeconds;
}

/**
 * Accounts whose deliveries could not be signed. Looked at before a job is made: a delivery that can't be signed later
 * would be a promise broken in silence.
 */
async function findUnsigned(sql: Reader, { keyring }: BatchDeps, due: readonly DueWatch[]): Promise<Set<string>> {
  const told = due.filter(({ webhookUrl }) => webhookUrl !== null).map(({ accountId }) => accountId);
  const accountIds = [...new Set(told)];
  const secrets = await resolveSigningSecrets(sql, { accountIds, keyring });
  return new Set(
    accountIds.filter((accountId) => {
      const secret = secrets.get(accountId);
      return secret === undefined || secret instanceof ServiceError;
    }),
  );
}
