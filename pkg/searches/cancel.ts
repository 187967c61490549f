import { ServiceError, type ErrorCode, type JobState, type TerminalState } from '../contract/index.ts';
import { query, type Database, type Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';
import { endCaptures, SEARCH_CANCELED } from './end.ts';

type Reason = { state: TerminalState; code: ErrorCode; message: string };

const CANCELED: Reason = { state: 'canceled', code: 'REQUEST_CANCELED', message: 'The job was canceled.' };
const GAVE_UP: Reason = {
  state: 'canceled',
  code: 'REQUEST_CANCELED',
  message: 'The synchronous request ended before the capture did.',
};

/**
 * Ends every child that has not ended, whoever holds it: their fences move, so that a late finish changes nothing.
 * Throws `JOB_NOT_FOUND` for a parent that the account does not have.
 */
export async function cancelSearch(
  deps: { db: Database; clock: Clock },
  accountId: string,
  jobId: string,
): Promise<JobState> {
  return endOpenChildren(deps, accountId, jobId, CANCELED);
}

/** The end of a synchronous wait that came before the captures' (design, "Sync, several children"). */
export async function abandonSearch(
  deps: { db: Database; clock: Clock },
  accountId: string,
  jobId: string,
): Promise<JobState> {
  return endOpenChildren(deps, accountId, jobId, GAVE_UP);
}

async function endOpenChildren(
  { db, clock }: { db: Database; clock: Clock },
  accountId: string,
  jobId: string,
  reason: Reason,
): Promise<JobState> {
  return db.asTenant(accountId, async (sql) => {
    const open = await query<{ id: string }>(
      sql,
      `SELECT id FROM captures WHERE search_id = :jobId AND account_id = :accountId AND state IN ('queued', 'running')
       ORDER BY id FOR UPDATE`,
      { jobId, accountId },
    );
    const ended = await endCaptures(
      sql,
      clock,
      jobId,
      open.map(({ id }) => ({
        captureId: id,
        fence: null,
        state: reason.state,
        outcome: 'canceled',
        billed: false,
        error: { code: reason.code, error: reason.message },
        findings: null,
      })),
    );
    if (ended.length > 0) await query(sql, 'SELECT pg_notify(:channel, :jobId)', { channel: SEARCH_CANCELED, jobId });
    return readState(sql, accountId, jobId);
  });
}

async function readState(sql: Sql, accountId: string, jobId: string): Promise<JobState> {
  const [row] = await query<{ state: JobState }>(
    sql,
    'SELECT state FROM searches WHERE id = :jobId AND account_id = :accountId',
    {
      jobId,
      accountId,
    },
  );
  if (row === undefined) throw new ServiceError('JOB_NOT_FOUND');
  return row.state;
}
