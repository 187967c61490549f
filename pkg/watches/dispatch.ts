import type { Surface, WatchRunStatus } from '../contract/index.ts';
import type { LaneFacts } from '../searches/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { BATCH, runBatch, type BatchDeps } from './batch.ts';
import { claimDue, findDueAccounts, groupAccounts, type DueWatch } from './due.ts';
import { isPassing } from './failures.ts';
import { recordRuns, type RunOutcome } from './record.ts';
import { spreadMs } from './schedule.ts';

export type DispatchDeps = BatchDeps & {
  lanes: () => Promise<ReadonlyMap<Surface, LaneFacts>>;
  log: Logger;
  /** Told of each run once it is committed, for metrics. */
  onRun?: (run: RunReport) => void;
};

export type RunReport = { status: WatchRunStatus; /** From when the watch was due. */ latenessMs: number };

type Lanes = ReadonlyMap<Surface, LaneFacts>;

/** Of one turn, which has to end in time. An account with a long backlog gets one batch, then it is the others' turn. */
const ACCOUNTS = 1_000;
const BATCHES = 64;
/** Some of a batch is waiting for Postgres: several together keep it busy. Fewer than a pool has connections. */
const BATCHES_AT_ONCE = 4;

/**
 * Runs the watches whose tick has come, of each account as many as one batch takes (design, "Watches"). Accounts with
 * few share a batch. Who would have to be waited for, or keeps a batch from succeeding, comes last and alone, and so
 * holds up no other. Returns how many watches there were.
 */
export async function dispatchDue(deps: DispatchDeps): Promise<number> {
  const accounts = await findDueAccounts(deps.db.system, { windowSeconds: deps.spreadSeconds, limit: ACCOUNTS });
  const lanes = await deps.lanes();
  const left: string[] = [];
  const together = await sumOver(groupAccounts(accounts, BATCH).slice(0, BATCHES), (group) =>
    dispatchTogether(deps, lanes, group, left),
  );
  return together + (await sumOver(left, (accountId) => dispatchAccount(deps, lanes, accountId)));
}

async function sumOver<T>(items: readonly T[], work: (item: T) => Promise<number>): Promise<number> {
  const waiting = items.values();
  const workOff = async (): Promise<number> => {
    let sum = 0;
    for (const item of waiting) sum += await work(item);
    return sum;
  };
  const shares = await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, workOff));
  return shares.reduce((sum, share) => sum + share, 0);
}

/** A batch of accounts. Those that are still to be looked at alone are added to `left`. */
async function dispatchTogether(
  deps: DispatchDeps,
  lanes: Lanes,
  accountIds: readonly string[],
  left: string[],
): Promise<number> {
  const claimed = new Set<string>();
  const onClaimed = ({ accountId }: DueWatch) => claimed.add(accountId);
  try {
    const batch = await runBatch(deps, lanes, { accountIds, watchId: null, held: 'leave', onClaimed });
    left.push(...batch.left);
    return tellRuns(deps, batch.outcomes);
  } catch (error) {
    deps.log.error({ err: error, accounts: accountIds.length }, 'Could not dispatch watches together');
    left.push(...claimed);
    return 0;
  }
}

/** A batch of one account. What goes wrong here is logged and concerns this account only. */
async function dispatchAccount(deps: DispatchDeps, lanes: Lanes, accountId: string): Promise<number> {
  const claimed: string[] = [];
  const onClaimed = ({ id }: DueWatch) => claimed.push(id);
  try {
    const wanted = { accountIds: [accountId], watchId: null, held: 'wait' as const, onClaimed };
    return tellRuns(deps, (await runBatch(deps, lanes, wanted)).outcomes);
  } catch (error) {
    deps.log.error({ err: error, accountId }, 'Could not dispatch watches');
    if (isPassing(error)) return 0;
  }
  // One watch of the batch can't be dispatched, and would keep all of them from it for ever.
  let dispatched = 0;
  for (const watchId of claimed) dispatched += await dispatchAlone(deps, lanes, { accountId, watchId });
  return dispatched;
}

type Target = { accountId: string; watchId: string };

async function dispatchAlone(deps: DispatchDeps, lanes: Lanes, target: Target): Promise<number> {
  const { accountId, watchId } = target;
  try {
    const wanted = { accountIds: [accountId], watchId, held: 'wait' as const, onClaimed: () => undefined };
    return tellRuns(deps, (await runBatch(deps, lanes, wanted)).outcomes);
  } catch (error) {
    deps.log.error({ err: error, ...target }, 'Could not dispatch the watch');
    return isPassing(error) ? 0 : recordFailure(deps, target);
  }
}

/** Gives up this tick of a watch that can't be dispatched, so that it is tried again at the next one. */
async function recordFailure(deps: DispatchDeps, target: Target): Promise<number> {
  const { db, spreadSeconds: windowSeconds, log } = deps;
  const { accountId, watchId } = target;
  try {
    const outcomes = await db.inPipeline(async (sql) => {
      const due = await claimDue(sql, { accountIds: [accountId], watchId, windowSeconds, limit: 1 });
      const outcomes = due.map((watch) => ({ watch, status: 'failed' as const, jobId: null, detail: NOT_SUBMITTED }));
      await recordRuns(sql, outcomes, { windowSeconds, repeated: 'move on' });
      return outcomes;
    });
    return tellRuns(deps, outcomes);
  } catch (error) {
    log.error({ err: error, ...target }, 'Could not record that a watch failed; it stays due');
    return 0;
  }
}

const NOT_SUBMITTED = 'The search could not be submitted because of an error in the service.';

/** Resolves to how many there were. */
function tellRuns({ onRun, spreadSeconds }: DispatchDeps, outcomes: readonly RunOutcome[]): number {
  for (const { watch, status } of outcomes)
    onRun?.({
      status,
      latenessMs: watch.claimedAt.getTime() - watch.nextRunAt.getTime() - spreadMs(watch, spreadSeconds),
    });
  return outcomes.length;
}
