import type { Surface } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';
import type { Demand } from './scaling/index.ts';

/**
 * What waits and runs on every surface that has any. A capture that is retried counts as waiting once its pause ends
 * within `soonSeconds`; that must not be less than the time after which waiting ones are announced again.
 */
export async function readDemand(sql: Sql, soonSeconds: number): Promise<ReadonlyMap<Surface, Demand>> {
  // Two halves, each on its own partial index: over the whole table this would grow with history.
  const rows = await query<Demand & { surface: Surface }>(
    sql,
    `SELECT surface, sum(waiting)::int AS waiting, sum(running)::int AS running FROM (
       SELECT surface, count(*) AS waiting, 0 AS running FROM captures
       WHERE state = 'queued' AND announce_at <= now() + make_interval(secs => :soonSeconds) AND expires_at > now()
       GROUP BY surface
       UNION ALL
       SELECT surface, 0, count(*) FROM captures WHERE state = 'running' GROUP BY surface
     ) AS counted GROUP BY surface`,
    { soonSeconds },
  );
  return new Map(rows.map(({ surface, waiting, running }) => [surface, { waiting, running }]));
}
