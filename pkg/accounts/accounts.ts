import { newId } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';

export type NewAccount = { name: string; email: string; plan: string };

/** Stores an account with a balance of zero: credits come by a grant, so that the ledger tells all. */
export async function insertAccount(sql: Sql, clock: Clock, { name, email, plan }: NewAccount): Promise<string> {
  const id = newId('acct', clock.nowMs());
  await query(sql, 'INSERT INTO accounts (id, name, email, plan) VALUES (:id, :name, :email, :plan)', {
    id,
    name,
    email,
    plan,
  });
  return id;
}

/** The plan of an account; null when there is no such account. */
export async function findPlan(sql: Sql, accountId: string): Promise<string | null> {
  const [row] = await query<{ plan: string }>(sql, 'SELECT plan FROM accounts WHERE id = :accountId', { accountId });
  return row?.plan ?? null;
}
