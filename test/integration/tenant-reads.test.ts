import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDatabase, query, type Database, type Reader } from '../../pkg/postgres/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';

let test: TestDatabase;
/** One connection only: each read gets the one that another account has just used. */
let narrow: Database;
let accounts: string[];
beforeAll(async () => {
  test = await openTestDatabase();
  narrow = openDatabase({ url: test.url, poolSize: 1, applicationName: 'test' });
  accounts = await Promise.all(Array.from({ length: 20 }, () => openAccount(test.db)));
});
afterAll(async () => {
  await narrow.close();
  await test.close();
});

/** Names no owner: only row-level security stands between the accounts. */
const visibleAccounts = async (sql: Reader): Promise<string[]> =>
  (await query<{ id: string }>(sql, 'SELECT id FROM accounts')).map(({ id }) => id);

const accountAt = (index: number): string => accounts[index % accounts.length] ?? '';

describe('a read as a tenant', () => {
  it.each([
    ['one connection', 1],
    ['four connections', 4],
  ])('shows only its own rows while many accounts share %s', async (_, poolSize) => {
    const db = openDatabase({ url: test.url, poolSize, applicationName: 'test' });
    try {
      const seen = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          // Transactions in between, and some that roll back: they use the same connections.
          if (index % 5 === 3) return db.asTenant(accountAt(index), visibleAccounts);
          if (index % 5 === 4)
            return db
              .asTenant(accountAt(index), async (sql) => {
                await visibleAccounts(sql);
                throw new Error('rolled back');
              })
              .catch(() => [accountAt(index)]);
          return db.readAsTenant(accountAt(index), async (sql) => {
            const first = await visibleAccounts(sql);
            const [one, other] = await Promise.all([visibleAccounts(sql), visibleAccounts(sql)]);
            return [...new Set([...first, ...one, ...other])];
          });
        }),
      );
      expect(seen).toEqual(seen.map((_, index) => [accountAt(index)]));
    } finally {
      await db.close();
    }
  });

  it.each([
    ['its work throws', () => Promise.reject(new Error('on purpose')), 'on purpose'],
    ['a statement fails', (sql: Reader) => query(sql, 'SELECT 1 / 0'), 'division by zero'],
    ['it asks for what tenants may not see', (sql: Reader) => query(sql, 'SELECT * FROM rate_limits'), 'permission'],
  ])('gives its connection back when %s', async (_, work, message) => {
    // More often than the pool has connections: one that is kept would leave the next read waiting.
    for (let round = 0; round < 3; round += 1)
      await expect(narrow.readAsTenant(accountAt(0), work)).rejects.toThrow(message);
    expect(await narrow.readAsTenant(accountAt(1), visibleAccounts)).toEqual([accountAt(1)]);
  });

  it('runs nothing of a work that has ended, not even what it had already asked for', async () => {
    const left: { sql?: Reader; statements: Promise<string[]>[] } = { statements: [] };
    await expect(
      narrow.readAsTenant(accountAt(0), (sql) => {
        left.sql = sql;
        left.statements.push(visibleAccounts(sql), visibleAccounts(sql));
        return Promise.reject(new Error('ended early'));
      }),
    ).rejects.toThrow('ended early');
    const next = narrow.readAsTenant(accountAt(1), visibleAccounts);
    const late = left.sql === undefined ? [] : [visibleAccounts(left.sql)];
    for (const statement of await Promise.allSettled([...left.statements, ...late])) {
      if (statement.status === 'fulfilled') expect(statement.value).toEqual([accountAt(0)]);
      else expect(String(statement.reason)).toContain('after its work had ended');
    }
    expect(await next).toEqual([accountAt(1)]);
    expect(late).toHaveLength(1);
  });

  it('shows nothing to an account that does not exist, right after one that does', async () => {
    expect(await narrow.readAsTenant(accountAt(0), visibleAccounts)).toEqual([accountAt(0)]);
    expect(await narrow.readAsTenant('acct_nobody', visibleAccounts)).toEqual([]);
    expect(await narrow.readAsTenant('', visibleAccounts)).toEqual([]);
  });

  it('goes on after its connection was cut', async () => {
    await narrow.readAsTenant(accountAt(0), visibleAccounts);
    const cut = narrow.readAsTenant(accountAt(0), (sql) => query(sql, 'SELECT pg_terminate_backend(pg_backend_pid())'));
    await expect(cut).rejects.toThrow();
    expect(await narrow.readAsTenant(accountAt(1), visibleAccounts)).toEqual([accountAt(1)]);
  });
});
