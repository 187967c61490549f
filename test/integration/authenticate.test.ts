import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeKey, revokeKey } from '../../pkg/accounts/keys.ts';
import { createAuthenticate } from '../../pkg/http/middleware/authenticate.ts';
import { openAccount, openKey, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';

let test: TestDatabase;
let key: string;
let revoked: string;

beforeAll(async () => {
  test = await openTestDatabase();
  const accountId = await openAccount(test.db);
  ({ key } = await openKey(test.db, accountId));
  const ended = await openKey(test.db, accountId);
  await revokeKey(test.db.system, ended.keyId);
  revoked = ended.key;
});
afterAll(() => test.close());

/** What a look-up asks of the database. */
async function watch(work: () => Promise<unknown>): Promise<string[]> {
  const statements: string[] = [];
  const note = ({ sql }: { sql: string }): void => void statements.push(sql);
  test.db.system.on('query', note);
  try {
    await work();
  } finally {
    test.db.system.removeListener('query', note);
  }
  return statements;
}

describe('a key', () => {
  const open = (nowMs = () => 0) => createAuthenticate({ sql: test.db.system, pepper: TEST_PEPPER, clock: { nowMs } });

  const bad: [string, () => string | undefined][] = [
    ['missing', () => undefined],
    ['empty', () => 'Bearer '],
    ['of another scheme', () => 'Basic c2s6c2s='],
    ['malformed', () => 'Bearer nonsense'],
    ['unknown', () => `Bearer ${makeKey('live')}`],
    ['revoked', () => `Bearer ${revoked}`],
  ];

  it.each(bad)('that is %s costs the same work as a good one, and is not told apart', async (_, authorization) => {
    const good = await watch(() => open()(`Bearer ${key}`));
    expect(good).toHaveLength(1);
    const same = await watch(() => expect(open()(authorization())).rejects.toMatchObject({ code: 'AUTH_INVALID' }));
    expect(same).toEqual(good);
  });

  it('is looked up once for requests that come together, and again after two seconds', async () => {
    let nowMs = 0;
    const authenticate = open(() => nowMs);
    const burst = () => Promise.all(Array.from({ length: 50 }, () => authenticate(`Bearer ${key}`)));
    expect(await watch(burst)).toHaveLength(1);
    nowMs = 1_999;
    expect(await watch(burst)).toHaveLength(0);
    nowMs = 2_000;
    expect(await watch(burst)).toHaveLength(1);
  });

  it('that was unknown works as soon as it is made', async () => {
    const authenticate = open();
    const accountId = await openAccount(test.db);
    await expect(authenticate('Bearer later')).rejects.toMatchObject({ code: 'AUTH_INVALID' });
    const made = await openKey(test.db, accountId);
    await expect(authenticate(`Bearer ${made.key}`)).resolves.toMatchObject({ accountId });
  });
});
