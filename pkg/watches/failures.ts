import pg from 'pg';

/**
 * Classes of SQLSTATE that have nothing to do with what was asked: connection lost, deadlock, out of resources, lock
 * not available, shutdown or time-out.
 */
const PASSING = ['08', '40', '53', '55', '57'];

/** True for an error that the same work would probably not meet again in a moment. */
export function isPassing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && PASSING.includes((error.code ?? '').slice(0, 2));
}
