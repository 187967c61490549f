import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { grant, readUsage } from '../../pkg/credits/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await openTestDatabase();
});
afterAll(() => test.close());
afterEach(async () => {
  expect(await findBrokenInvariants(test.db.system)).toEqual([]);
});

describe('the ledger', () => {
  it('adds grants up to the balance', async () => {
    const accountId = await openAccount(test.db, { credits: 20 });
    await test.db.inTransaction((sql) => grant(sql, accountId, 5));
    expect((await readUsage(test.db, accountId, Date.now())).balance).toEqual({
      total: 25,
      reserved: 0,
      available: 25,
    });
  });

  it.each([
    ['changed', 'UPDATE ledger_entries SET amount = 1'],
    ['deleted from', 'DELETE FROM ledger_entries'],
  ])('can not be %s', async (_, statement) => {
    await openAccount(test.db);
    await expect(query(test.db.system, statement)).rejects.toThrow('append-only');
  });

  it.each([
    ['a negative balance', 'UPDATE accounts SET balance = -1 WHERE id = :accountId'],
    ['a hold above the balance', 'UPDATE accounts SET held = balance + 1 WHERE id = :accountId'],
  ])('refuses %s whatever the code does', async (_, statement) => {
    const accountId = await openAccount(test.db, { credits: 20 });
    await expect(query(test.db.system, statement, { accountId })).rejects.toThrow(/check constraint/);
  });
});

describe('usage', () => {
  it('of a new account is zero on each of 90 days', async () => {
    const accountId = await openAccount(test.db);
    const { usage } = await readUsage(test.db, accountId, Date.parse('2026-11-21T12:00:00Z'));
    expect(usage).toMatchObject({
      window: { from: '2026-10-23', to: '2026-11-21' },
      groups: [],
      totals: { callCount: 0, creditsCharged: 0 },
    });
    expect(usage.daily).toHaveLength(90);
    expect(usage.daily.at(-1)).toEqual({ date: '2026-11-21', callCount: 0, creditsCharged: 0 });
  });
});
