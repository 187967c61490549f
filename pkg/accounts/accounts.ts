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

export async function accountExists(sql: Sql, accountId: string): Promise<boolean> {
  const rows = await query<{ id: string }>(sql, 'SELECT id FROM accounts WHERE id = :accountId', { accountId });
  return rows.length > 0;
}
