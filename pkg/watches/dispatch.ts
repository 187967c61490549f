import type { Plans } from '../accounts/index.ts';
import type { Keyring } from '../config/index.ts';
import { ServiceError, type Surface, type WatchRunStatus } from '../contract/index.ts';
import type { Database, Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';
import { acceptSearchesIn, type LaneFacts, type NewSearch } from '../searches/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { resolveSigningSecret } from '../webhooks/index.ts';
import { claimDue, findDueAccounts, lockAccount, type DueWatch } from './due.ts';
import { isPassing } from './failures.ts';
import { judgeRuns, type RunVerdict } from './judge.ts';
import { recordRuns, type RunOutcome } from './record.ts';
import { spreadMs } from './schedule.ts';

export type DispatchDeps = {
  db: Database;
  clock: Clock;
  plans: Plans;
  priceOf: (surface: Surface) => number;
  lanes: () => Promise<ReadonlyMap<Surface, LaneFacts>>;
  keyring: Keyring;
  /** Watches with the same tick are dispatched spread over so long; 0 at once. */
  spreadSeconds: number;
  log: Logger;
  /** Told of each run once it is committed, for metrics. */
  onRun?: (run: RunReport) => void;
};

export type RunReport = { status: WatchRunStatus; /** From when the watch was due. */ latenessMs: number };

type Lanes = ReadonlyMap<Surface, LaneFacts>;

/** One transaction's worth: long enough that its round trips hardly count, short enough that its locks don't. */
const BATCH = 500;
/** Accounts of one turn. An account with a long backlog gets one batch, then it is the others' turn. */
const ACCOUNTS = 64;
/** Most of a small batch is waiting for Postgres: several together share a flush of its log. Fewer than a pool has. */
const ACCOUNTS_AT_ONCE = 8;

/** Runs the watches whose tick has come, one batch for each account (design, "Watches"). Returns how many. */
export async function dispatchDue(deps: DispatchDeps): Promise<number> {
  const accounts = await findDueAccounts(deps.db.system, { windowSeconds: deps.spreadSeconds, limit: ACCOUNTS });
  const lanes = await deps.lanes();
  const waiting = accounts.values();
  const work = async (): Promise<number> => {
    let dispatched = 0;
    for (const accountId of waiting) dispatched += await dispatchAccount(deps, lanes, accountId);
    return dispatched;
  };
  const shares = await Promise.all(Array.from({ length: ACCOUNTS_AT_ONCE }, work));
  return shares.reduce((sum, share) => sum + share, 0);
}

/** A batch of one account. What goes wrong here is logged and concerns this account only. */
async function dispatchAccount(deps: DispatchDeps, lanes: Lanes, accountId: string): Promise<number> {
  const claimed: string[] = [];
  try {
    return await dispatchBatch(deps, lanes, { accountId, watchId: null }, (watch) => claimed.push(watch.id));
  } catch (error) {
    deps.log.error({ err: error, accountId }, 'Could not dispatch watches');
    if (isPassing(error)) return 0;
  }
  // One watch of the batch can't be dispatched, and would keep all of them from it for ever.
  let dispatched = 0;
  for (const watchId of claimed) dispatched += await dispatchAlone(deps, lanes, { accountId, watchId });
  return dispatched;
}

type Target = { accountId: string; watchId: string | null };

async function dispatchAlone(deps: DispatchDeps, lanes: Lanes, target: Target): Promise<number> {
  try {
    return await dispatchBatch(deps, lanes, target, () => undefined);
  } catch (error) {
    deps.log.error({ err: error, ...target }, 'Could not dispatch the watch');
    return isPassing(error) ? 0 : recordFailure(deps, target);
  }
}

async function dispatchBatch(
  deps: DispatchDeps,
  lanes: Lanes,
  { accountId, watchId }: Target,
  onClaimed: (watch: DueWatch) => void,
): Promise<number> {
  const windowSeconds = deps.spreadSeconds;
  const recorded = await deps.db.asTenant(accountId, async (sql) => {
    const due = await claimDue(sql, { accountId, watchId, windowSeconds, limit: BATCH });
    if (due.length === 0) return null;
    due.forEach(onClaimed);
    const { plan, now, ...account } = await lockAccount(sql, accountId);
    const ceilings = { queued: deps.plans.get(plan).queuedChildren, syncInFlight: 0 };
    const verdicts = judgeRuns(
      due,
      { ...account, queueCeiling: ceilings.queued },
      { lanes, priceOf: deps.priceOf, canSign: await canSign(sql, deps, accountId, due) },
    );
    const outcomes = await acceptRuns(sql, deps, { accountId, ceilings, lanes }, verdicts);
    await recordRuns(sql, outcomes, { accountId, now, windowSeconds, repeated: 'refuse' });
    return { outcomes, now };
  });
  return recorded === null ? 0 : tellRuns(deps, recorded);
}

/** Resolves to how many there were. */
function tellRuns(
  { onRun, spreadSeconds }: DispatchDeps,
  { outcomes, now }: { outcomes: readonly RunOutcome[]; now: Date },
): number {
  for (const { watch, status } of outcomes)
    onRun?.({ status, latenessMs: now.getTime() - watch.nextRunAt.getTime() - spreadMs(watch, spreadSeconds) });
  return outcomes.length;
}

type Acceptance = { accountId: string; ceilings: { queued: number; syncInFlight: number }; lanes: Lanes };

/** Submits the runs that may start as any other search is; those of internal keys' watches apart, as they cost nothing. */
async function acceptRuns(
  sql: Sql,
  deps: DispatchDeps,
  { lanes, ...acceptor }: Acceptance,
  verdicts: readonly RunVerdict[],
): Promise<RunOutcome[]> {
  const jobs = new Map<string, string>();
  for (const metered of [true, false]) {
    const watches = verdicts
      .filter(({ status, watch }) => status === 'dispatched' && watch.metered === metered)
      .map(({ watch }) => watch);
    if (watches.length === 0) continue;
    const searches = watches.map((watch) => toSearch(watch, lanes));
    const accepted = await acceptSearchesIn(sql, deps, { ...acceptor, metered }, searches);
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

/** Looked at before a job is made: a delivery that can't be signed later would be a promise broken in silence. */
async function canSign(sql: Sql, { keyring }: DispatchDeps, accountId: string, due: readonly DueWatch[]) {
  if (due.every(({ webhookUrl }) => webhookUrl === null)) return true;
  try {
    await resolveSigningSecret(sql, { accountId, keyring });
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/** Gives up this tick of a watch that can't be dispatched, so that it is tried again at the next one. */
async function recordFailure(deps: DispatchDeps, target: Target): Promise<number> {
  const { db, spreadSeconds, log } = deps;
  const { accountId, watchId } = target;
  try {
    const recorded = await db.asTenant(accountId, async (sql) => {
      const due = await claimDue(sql, { accountId, watchId, windowSeconds: spreadSeconds, limit: 1 });
      const { now } = await lockAccount(sql, accountId);
      const outcomes = due.map((watch) => ({ watch, status: 'failed' as const, jobId: null, detail: NOT_SUBMITTED }));
      await recordRuns(sql, outcomes, { accountId, now, windowSeconds: spreadSeconds, repeated: 'move on' });
      return { outcomes, now };
    });
    return tellRuns(deps, recorded);
  } catch (error) {
    log.error({ err: error, ...target }, 'Could not record that a watch failed; it stays due');
    return 0;
  }
}

const NOT_SUBMITTED = 'The search could not be submitted because of an error in the service.';
