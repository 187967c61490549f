import { randomUUID } from 'node:crypto';
import { createKey, insertAccount, type KeyMode, type Scope } from '../../pkg/accounts/index.ts';
import { grant } from '../../pkg/credits/index.ts';
import type { Database } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';

export const TEST_PEPPER = 'a pepper for tests only';

/** An account with this balance. */
export async function openAccount(db: Database, { credits = 500, plan = 'free' } = {}): Promise<string> {
  return db.inTransaction(async (sql) => {
    const id = await insertAccount(sql, systemClock, { name: 'test', email: `${randomUUID()}@example.com`, plan });
    if (credits > 0) await grant(sql, id, credits);
    return id;
  });
}

/** A key of the account, in plain text. */
export async function openKey(
  db: Database,
  accountId: string,
  mode: KeyMode = 'live',
  scopes: Scope[] = [],
): Promise<{ keyId: string; key: string }> {
  return createKey(db.system, { pepper: TEST_PEPPER, clock: systemClock }, { accountId, mode, scopes });
}
