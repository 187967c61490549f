import { newId } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';

export type NewAccount = { name: string; email: string; plan: string };

/**
 * Stores an account with a balance of zero: credits come by a grant, so that the ledger tells all. Throws when the
 * address has an account, in whatever case it is written.
 */
export async function insertAccount(sql: Sql, clock: Clock, { name, email, plan }: NewAccount): Promise<string> {
  const id = newId('acct', clock.nowMs());
  const made = await query(
    sql,
    `INSERT INTO accounts (id, name, email, plan) VALUES (:id, :name, :email, :plan)
     ON CONFLICT (lower(email)) DO NOTHING RETURNING id`,
    { id, name, email, plan },
  );
  if (made.length === 0) throw new Error(`${email} has an account already`);
  return id;
}

/** The plan of an account; null when there is no such account. */
export async function findPlan(sql: Sql, accountId: string): Promise<string | null> {
  const [row] = await query<{ plan: string }>(sql, 'SELECT plan FROM accounts WHERE id = :accountId', { accountId });
  return row?.plan ?? null;
}
