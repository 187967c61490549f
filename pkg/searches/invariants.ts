import { query, type Sql } from '../postgres/index.ts';

/**
 * What must hold at every moment, whatever died. Each row of the answer is one broken promise, in words; none is the
 * only good answer. What CHECKs and unique keys refuse already is not asked again.
 */
export async function findBrokenInvariants(sql: Sql): Promise<string[]> {
  const rows = await query<{ broken: string }>(
    sql,
    `WITH load AS (
       SELECT account_id, sum(credits_held) AS held,
              count(*) FILTER (WHERE state = 'queued') AS queued, count(*) FILTER (WHERE state = 'running') AS running,
              count(*) FILTER (WHERE synchronous AND state IN ('queued', 'running')) AS sync
       FROM captures GROUP BY account_id
     ), ledger AS (SELECT account_id, sum(amount) AS balance FROM ledger_entries GROUP BY account_id),
     children AS (
       SELECT search_id, count(*) AS children, count(*) FILTER (WHERE state = 'completed') AS completed,
              count(*) FILTER (WHERE state = 'partial') AS partial, count(*) FILTER (WHERE state = 'failed') AS failed,
              count(*) FILTER (WHERE state = 'canceled') AS canceled, count(*) FILTER (WHERE state = 'expired') AS expired
       FROM captures GROUP BY search_id
     )
     SELECT format('%s: balance %s, ledger %s', a.id, a.balance, coalesce(l.balance, 0)) AS broken
     FROM accounts a LEFT JOIN ledger l ON l.account_id = a.id WHERE a.balance <> coalesce(l.balance, 0)
     UNION ALL
     SELECT format('%s: holds %s of captures, %s in the account', a.id, coalesce(c.held, 0), a.held)
     FROM accounts a LEFT JOIN load c ON c.account_id = a.id WHERE a.held <> coalesce(c.held, 0)
     UNION ALL
     SELECT format('%s: %s/%s/%s queued/running/sync captures, %s/%s/%s in the account', a.id,
                   coalesce(c.queued, 0), coalesce(c.running, 0), coalesce(c.sync, 0), a.queued, a.running, a.sync_in_flight)
     FROM accounts a LEFT JOIN load c ON c.account_id = a.id
     WHERE (a.queued, a.running, a.sync_in_flight)
           IS DISTINCT FROM (coalesce(c.queued, 0)::int, coalesce(c.running, 0)::int, coalesce(c.sync, 0)::int)
     UNION ALL
     SELECT format('%s: its counts are not those of its children', s.id)
     FROM searches s LEFT JOIN children c ON c.search_id = s.id
     WHERE (s.child_count, s.completed_count, s.partial_count, s.failed_count, s.canceled_count, s.expired_count)
           IS DISTINCT FROM (c.children::int, c.completed::int, c.partial::int, c.failed::int, c.canceled::int, c.expired::int)
     UNION ALL
     SELECT format('%s: charged %s, ledger %s', c.id, c.credits_charged, coalesce(-l.amount, 0))
     FROM captures c LEFT JOIN ledger_entries l ON l.capture_id = c.id AND l.kind = 'charge'
     WHERE c.credits_charged <> coalesce(-l.amount, 0)
     UNION ALL
     SELECT format('%s: %s has %s envelope', c.id, c.state, CASE WHEN e.capture_id IS NULL THEN 'no' ELSE 'an' END)
     FROM captures c LEFT JOIN envelopes e ON e.capture_id = c.id
     WHERE (c.state IN ('queued', 'running')) = (e.capture_id IS NOT NULL)
     UNION ALL
     SELECT format('%s: charged although its surface was absent', c.id)
     FROM captures c JOIN envelopes e ON e.capture_id = c.id
     WHERE c.credits_charged > 0 AND NOT (e.envelope -> 'provenance' ->> 'surfacePresent')::boolean
     UNION ALL
     SELECT format('%s: usage of %s calls, %s captures were started and ended', a.id, coalesce(u.calls, 0), coalesce(c.calls, 0))
     FROM accounts a
     LEFT JOIN (SELECT account_id, sum(call_count) AS calls FROM usage_daily GROUP BY account_id) u ON u.account_id = a.id
     LEFT JOIN (SELECT account_id, count(*) AS calls FROM captures WHERE ended_at IS NOT NULL AND started_at IS NOT NULL GROUP BY account_id) c
            ON c.account_id = a.id
     WHERE coalesce(u.calls, 0) <> coalesce(c.calls, 0)
     UNION ALL
     SELECT format('%s: is of a watch, and %s runs name it', s.id, count(r.id))
     FROM searches s LEFT JOIN watch_runs r ON r.job_id = s.id AND r.account_id = s.account_id
     WHERE s.method = 'watch' GROUP BY s.id HAVING count(r.id) <> 1`,
  );
  return rows.map(({ broken }) => broken);
}
