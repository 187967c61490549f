import { newId, type WatchRunStatus } from '../contract/index.ts';
import { query, type Reader } from '../postgres/index.ts';
import type { DueWatch } from './due.ts';
import { count } from './judge.ts';
import { nextTick } from './schedule.ts';

/** Runs in a row without credits after which a watch is paused (spec 3.2, 8). */
const SKIPS_UNTIL_PAUSE = 3;

export type RunOutcome = { watch: DueWatch; status: WatchRunStatus; jobId: string | null; detail: string };

export type RecordOptions = {
  windowSeconds: number;
  /** What to do about a tick that has a run already: refuse everything, or only move the watch on. */
  repeated: 'refuse' | 'move on';
};

/**
 * Writes one run for each tick and moves its watch to the next one, in one statement of the transaction that claimed
 * the watches and accepted their searches: a process that dies leaves both or neither.
 */
export async function recordRuns(sql: Reader, outcomes: readonly RunOutcome[], options: RecordOptions): Promise<void> {
  const rows = outcomes.map((outcome) => describe(outcome, options));
  await query(
    sql,
    `WITH given AS (
       SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(id text, account_id text, watch_id text, scheduled_for timestamptz,
         status text, job_id text, detail text, next_run_at timestamptz, credit_skips int)
     ), moved AS (
       UPDATE watches w
       SET next_run_at = g.next_run_at, credit_skips = g.credit_skips,
           status = CASE WHEN g.credit_skips = ${SKIPS_UNTIL_PAUSE} THEN 'paused' ELSE w.status END,
           paused_reason = CASE WHEN g.credit_skips = ${SKIPS_UNTIL_PAUSE} THEN 'insufficient_credits' END,
           last_run_at = CASE WHEN g.job_id IS NULL THEN w.last_run_at ELSE now() END,
           last_job_id = coalesce(g.job_id, w.last_job_id)
       FROM given g WHERE w.id = g.watch_id
     )
     INSERT INTO watch_runs (id, account_id, watch_id, scheduled_for, status, job_id, detail)
     SELECT id, account_id, watch_id, scheduled_for, status, job_id, detail FROM given
     ${options.repeated === 'move on' ? 'ON CONFLICT (watch_id, scheduled_for) DO NOTHING' : ''}`,
    { rows: JSON.stringify(rows) },
  );
}

function describe({ watch, status, jobId, detail }: RunOutcome, { windowSeconds }: RecordOptions): object {
  const tick = { tickMs: watch.nextRunAt.getTime(), intervalMinutes: watch.intervalMinutes, jitter: watch.jitter };
  const { nextTickMs, missed } = nextTick(tick, watch.claimedAt.getTime(), windowSeconds);
  const skips = status === 'skipped_credits' ? watch.creditSkips + 1 : 0;
  return {
    id: newId('wrun', watch.claimedAt.getTime()),
    account_id: watch.accountId,
    watch_id: watch.id,
    scheduled_for: watch.nextRunAt,
    status,
    job_id: jobId,
    detail: [detail, ...tellMissed(missed), ...tellPause(skips)].join(' '),
    next_run_at: new Date(nextTickMs),
    credit_skips: skips,
  };
}

function tellMissed(missed: number): string[] {
  return missed === 0 ? [] : [`It was late: it also stands for ${count(missed, 'tick')} missed after it.`];
}

function tellPause(skips: number): string[] {
  return skips < SKIPS_UNTIL_PAUSE ? [] : [`This was the third such run in a row, so the watch is paused.`];
}
