import { secondsTime, setConditions, type Verdict } from '../kube/index.ts';
import type { WatchObject, WatchStatusFields } from '../resources/index.ts';
import type { Mirrored } from './mirror.ts';

/** The conditions of a watch, each with what to do next. */
export function judgeWatch(resource: WatchObject, { problem, managed }: Mirrored): Verdict[] {
  return [judgeReady(resource, { problem, managed }), judgeSuspension(resource)];
}

/** The conditions of a watch that can't be looked at, as Postgres is away. */
export function judgeUnknown(resource: WatchObject, databaseProblem: string): Verdict[] {
  const message = `The controller can't ask Postgres (${databaseProblem}), so nobody knows whether the watch runs; what else stands here is what was last known. Check Postgres and the controller's DATABASE_URL.`;
  return [{ type: 'Ready', status: 'Unknown', reason: 'DatabaseUnreachable', message }, judgeSuspension(resource)];
}

function judgeReady({ spec }: WatchObject, { problem, managed }: Pick<Mirrored, 'problem' | 'managed'>): Verdict {
  const is = (status: Verdict['status'], reason: string, message: string): Verdict => ({
    type: 'Ready',
    status,
    reason,
    message,
  });
  const runsOn = managed?.watch.status === 'active' ? ' Until then the watch runs as it was before.' : '';
  if (problem !== null) return is('False', problem.reason, `${problem.message}${runsOn}`);
  if (spec.suspend === true)
    return is('False', 'Suspended', 'The watch is paused. Set spec.suspend to false to resume it.');
  if (managed?.watch.pausedReason === 'insufficient_credits') {
    return is(
      'False',
      'InsufficientCredits',
      'Three runs in a row lacked credits, so the watch was paused. Grant the account credits, then set spec.suspend to true and back to false.',
    );
  }
  if (
    managed?.lastOutcome === 'failed' ||
    managed?.lastOutcome === 'skipped_limit' ||
    managed?.lastOutcome === 'skipped_credits'
  ) {
    return is(
      'True',
      'LastRunFailed',
      `The watch runs, but its latest run started no job: ${managed.lastDetail ?? 'no reason'}`,
    );
  }
  return is('True', 'Scheduled', `The watch runs every ${managed?.watch.schedule.every ?? 'interval'}.`);
}

function judgeSuspension({ spec }: WatchObject): Verdict {
  const suspended = spec.suspend === true;
  return {
    type: 'Suspended',
    status: suspended ? 'True' : 'False',
    reason: suspended ? 'SuspendedInSpec' : 'NotSuspended',
    message: suspended ? 'spec.suspend is true.' : 'spec.suspend is false.',
  };
}

/** The status as it was, with other conditions. */
export function keepWatchStatus(
  { status, metadata }: WatchObject,
  verdicts: readonly Verdict[],
  nowMs: number,
): WatchStatusFields {
  const generation = metadata.generation ?? 0;
  const conditions = setConditions(status?.conditions, verdicts, { generation, nowMs });
  return { ...status, observedGeneration: generation, conditions };
}

/** What the status says of the watch in Postgres. Fields that nothing is known of are left out. */
export function buildWatchStatus(
  resource: WatchObject,
  { managed }: Mirrored,
  verdicts: readonly Verdict[],
  nowMs: number,
): WatchStatusFields {
  const generation = resource.metadata.generation ?? 0;
  const conditions = setConditions(resource.status?.conditions, verdicts, { generation, nowMs });
  if (managed === null) return { observedGeneration: generation, conditions };
  const { watch, accountId, lastOutcome, lastDetail } = managed;
  return {
    observedGeneration: generation,
    conditions,
    id: watch.id,
    accountId,
    schedule: watch.schedule.every,
    ...(watch.status === 'active' ? { nextRunAt: seconds(watch.nextRunAt) } : {}),
    ...(watch.lastRunAt === null ? {} : { lastRunAt: seconds(watch.lastRunAt) }),
    ...(watch.lastJobId === null ? {} : { lastJobId: watch.lastJobId }),
    ...(lastOutcome === null ? {} : { lastOutcome }),
    ...(lastDetail === null || lastDetail === '' ? {} : { lastDetail: lastDetail.slice(0, 1000) }),
  };
}

function seconds(time: string): string {
  return secondsTime(Date.parse(time));
}
