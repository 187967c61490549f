import type { JobState, Surface } from '../contract/index.ts';
import { query, type Database } from '../postgres/index.ts';

export type JobListItem = { id: string; status: JobState; prompt: string; createdAt: string };

/** Where a page begins: after this row, in the order `(created_at, id)` descending. */
export type Position = { createdAt: string; id: string };

export type JobListQuery = {
  accountId: string;
  limit: number;
  state: JobState | null;
  /** Parents with a child on this surface. */
  surface: Surface | null;
  after: Position | null;
};

/**
 * Parents, newest first (spec 4.4). Every filter has an index in the list's order, so that a page costs the same in a
 * table of millions: by surface the captures are walked, of which each parent is taken at its first.
 */
export async function listJobs(db: Database, wanted: JobListQuery): Promise<JobListItem[]> {
  const { accountId, limit, state, surface, after } = wanted;
  const conditions = [
    'p.account_id = :accountId',
    ...(after === null ? [] : ['(p.created_at, p.id) < (CAST(:createdAt AS timestamptz), :id)']),
    ...(surface === null ? [] : ['p.surface = :surface']),
    ...(state === null ? [] : ['s.state = :state']),
  ];
  const rows = await db.readAsTenant(accountId, (sql) =>
    query<{ id: string; status: JobState; prompt: string; createdAt: Date }>(
      sql,
      `SELECT DISTINCT ON (p.created_at, p.id) s.id, s.state AS status, s.query AS prompt, s.created_at AS "createdAt"
       FROM ${surface === null ? PARENTS : PARENTS_BY_CHILD} p JOIN searches s ON s.id = p.id
       WHERE ${conditions.join(' AND ')}
       ORDER BY p.created_at DESC, p.id DESC LIMIT :limit`,
      {
        accountId,
        limit,
        ...(state === null ? {} : { state }),
        ...(surface === null ? {} : { surface }),
        ...(after === null ? {} : { createdAt: after.createdAt, id: after.id }),
      },
    ),
  );
  return rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }));
}

const PARENTS = 'searches';
// A child is made in its parent's transaction, so its created_at is the parent's, and its index has the list's order.
const PARENTS_BY_CHILD = '(SELECT account_id, surface, created_at, search_id AS id FROM captures)';
