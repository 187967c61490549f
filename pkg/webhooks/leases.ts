import { query, type Sql } from '../postgres/index.ts';

/**
 * The line of an account is all of its deliveries that wait. Whoever holds its lease makes its attempts, so that taking a
 * delivery writes nothing. The lease is renewed while the line is held; of a holder that died it ends by itself.
 */
export type LineLease = {
  /** Of this process, and of no other. */
  holder: string;
  leaseMs: number;
};

/**
 * Takes at most so many lines that nobody holds and in which something is due: half of them, so that who looks next has
 * something too. Returns their accounts.
 */
export async function takeLines(sql: Sql, lease: LineLease, most: number): Promise<string[]> {
  const taken = await query<{ accountId: string }>(
    sql,
    `WITH RECURSIVE owners AS (
       (SELECT account_id FROM webhook_queue ORDER BY account_id LIMIT 1)
       UNION ALL
       SELECT (SELECT q.account_id FROM webhook_queue q WHERE q.account_id > o.account_id ORDER BY q.account_id LIMIT 1)
       FROM owners o WHERE o.account_id IS NOT NULL
     ), free AS (
       SELECT o.account_id FROM owners o
       WHERE o.account_id IS NOT NULL
         AND NOT EXISTS (SELECT FROM webhook_lines l WHERE l.account_id = o.account_id AND l.lease_until > now())
         -- The first from where the account begins is its own, as it has some.
         AND (SELECT q.next_attempt_at FROM webhook_queue q
              WHERE (q.account_id, q.next_attempt_at) >= (o.account_id, CAST('-infinity' AS timestamptz))
              ORDER BY q.account_id, q.next_attempt_at LIMIT 1) <= now()
     )
     INSERT INTO webhook_lines (account_id, holder, lease_until)
     SELECT account_id, :holder, now() + :leaseMs * interval '1 millisecond' FROM free
     ORDER BY account_id LIMIT (SELECT least(:most, ceil(count(*) / 2.0)) FROM free)
     -- Asked again, as another may have been quicker.
     ON CONFLICT (account_id) DO UPDATE SET holder = EXCLUDED.holder, lease_until = EXCLUDED.lease_until
       WHERE webhook_lines.lease_until <= now()
     RETURNING account_id AS "accountId"`,
    { ...lease, most },
  );
  return taken.map(({ accountId }) => accountId);
}

/** Renews the leases of these lines. Returns the accounts of those that are still held; the others are lost. */
export async function keepLines(sql: Sql, lease: LineLease, accountIds: readonly string[]): Promise<Set<string>> {
  const kept = await query<{ accountId: string }>(
    sql,
    `UPDATE webhook_lines SET lease_until = now() + :leaseMs * interval '1 millisecond'
     WHERE account_id = ANY(:accountIds) AND holder = :holder RETURNING account_id AS "accountId"`,
    { ...lease, accountIds },
  );
  return new Set(kept.map(({ accountId }) => accountId));
}

/** Gives these lines up, so that anyone may take them at once. */
export async function releaseLines(sql: Sql, holder: string, accountIds: readonly string[]): Promise<void> {
  if (accountIds.length === 0) return;
  await query(sql, 'DELETE FROM webhook_lines WHERE account_id = ANY(:accountIds) AND holder = :holder', {
    holder,
    accountIds,
  });
}
