import {
  isId,
  ServiceError,
  type CursorPosition,
  type Watch,
  type WatchRun,
  type WatchStatus,
} from '../contract/index.ts';
import { query, type Database, type Reader } from '../postgres/index.ts';
import { RUN_COLUMNS, toRun, toWatch, WATCH_COLUMNS, type RunRow, type WatchRow } from './rows.ts';

/** Runs that `GET /v1/watches/{id}` shows beside the watch (spec 8). */
const RUNS_SHOWN = 10;

export type WatchListQuery = {
  accountId: string;
  limit: number;
  status: WatchStatus | null;
  /** The page begins after this watch. */
  after: CursorPosition | null;
};

/** The account's watches, newest first (spec 4.13). */
export async function listWatches(db: Database, wanted: WatchListQuery): Promise<Watch[]> {
  const { accountId, limit, status, after } = wanted;
  const conditions = [
    'account_id = :accountId',
    ...(status === null ? [] : ['status = :status']),
    ...(after === null ? [] : ['(created_at, id) < (CAST(:createdAt AS timestamptz), :id)']),
  ];
  const rows = await db.readAsTenant(accountId, (sql) =>
    query<WatchRow>(
      sql,
      `SELECT ${WATCH_COLUMNS} FROM watches WHERE ${conditions.join(' AND ')}
       ORDER BY created_at DESC, id DESC LIMIT :limit`,
      { accountId, limit, ...(status === null ? {} : { status }), ...(after ?? {}) },
    ),
  );
  return rows.map(toWatch);
}

/** A watch and its newest runs. Throws `WATCH_NOT_FOUND` for one that the account does not have. */
export async function readWatch(
  db: Database,
  accountId: string,
  watchId: string,
): Promise<{ watch: Watch; runs: WatchRun[] }> {
  return db.readAsTenant(accountId, async (sql) => {
    const watch = toWatch(await findWatch(sql, accountId, watchId));
    return { watch, runs: await selectRuns(sql, { accountId, watchId, limit: RUNS_SHOWN, after: null }) };
  });
}

/** The watch that belongs to a Kubernetes resource and is not canceled; null when there is none. */
export async function readManagedWatch(db: Database, accountId: string, managedBy: string): Promise<Watch | null> {
  const [row] = await db.readAsTenant(accountId, (sql) =>
    query<WatchRow>(
      sql,
      `SELECT ${WATCH_COLUMNS} FROM watches
       WHERE account_id = :accountId AND managed_by = :managedBy AND status <> 'canceled'`,
      { accountId, managedBy },
    ),
  );
  return row === undefined ? null : toWatch(row);
}

export type RunListQuery = {
  accountId: string;
  watchId: string;
  limit: number;
  /** The page begins after this run. */
  after: CursorPosition | null;
};

/** The runs of a watch, newest first. Throws `WATCH_NOT_FOUND` for a watch that the account does not have. */
export async function listRuns(db: Database, wanted: RunListQuery): Promise<WatchRun[]> {
  return db.readAsTenant(wanted.accountId, async (sql) => {
    await findWatch(sql, wanted.accountId, wanted.watchId);
    return selectRuns(sql, wanted);
  });
}

/** The row of a watch. Throws `WATCH_NOT_FOUND`, also for what has not the form of an id. */
export async function findWatch(
  sql: Reader,
  accountId: string,
  watchId: string,
  lock: 'FOR UPDATE' | '' = '',
): Promise<WatchRow> {
  if (!isId('watch', watchId)) throw new ServiceError('WATCH_NOT_FOUND');
  const [row] = await query<WatchRow>(
    sql,
    `SELECT ${WATCH_COLUMNS} FROM watches WHERE id = :watchId AND account_id = :accountId ${lock}`,
    { watchId, accountId },
  );
  if (row === undefined) throw new ServiceError('WATCH_NOT_FOUND');
  return row;
}

async function selectRuns(sql: Reader, { accountId, watchId, limit, after }: RunListQuery): Promise<WatchRun[]> {
  const rows = await query<RunRow>(
    sql,
    `SELECT ${RUN_COLUMNS} FROM watch_runs
     WHERE watch_id = :watchId AND account_id = :accountId
       ${after === null ? '' : 'AND (created_at, id) < (CAST(:createdAt AS timestamptz), :id)'}
     ORDER BY created_at DESC, id DESC LIMIT :limit`,
    { watchId, accountId, limit, ...(after ?? {}) },
  );
  return rows.map(toRun);
}
