import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKeyring } from '../../pkg/config/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { runCommand, systemClock } from '../../pkg/runtime/index.ts';
import { createSecret, resolveSigningSecret } from '../../pkg/webhooks/index.ts';
import { openAccount, openKey, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { openTestProcesses, type TestProcess, type TestProcesses } from '../support/processes.ts';
import { findEmptyRedis } from '../support/redis.ts';
import { callApi, type Answer } from '../support/service.ts';

const KEYRING = `k1:${randomBytes(32).toString('base64')}`;
const keyring = createKeyring(KEYRING);
const WEBHOOK = { url: 'https://receiver.example/hook' };
const SEARCH = { query: 'bicycles', surfaces: ['engine_news'], webhook: WEBHOOK };

let database: TestDatabase;
let processes: TestProcesses;
let api: TestProcess;

beforeAll(async () => {
  database = await openTestDatabase();
  await query(
    database.db.system,
    `INSERT INTO lanes (surface, name, driver, live, queue_seconds) VALUES ('engine_news', 'test', 'browser', true, 900)`,
  );
  processes = await openTestProcesses({
    DATABASE_URL: database.url,
    REDIS_URL: await findEmptyRedis(),
    API_KEY_PEPPER: TEST_PEPPER,
    SECRETS_KEYRING: KEYRING,
  });
  api = await processes.start('api');
}, 90_000);
afterAll(async () => {
  await processes.close();
  await database.close();
});

const SCS = fileURLToPath(new URL('../../cmd/scs/main.ts', import.meta.url));

/** The operator's command line, as its own process. */
function scs(...words: string[]): Promise<string> {
  return runCommand(process.execPath, [SCS, ...words], {
    timeoutMs: 60_000,
    env: { ...process.env, DATABASE_URL: database.url, API_KEY_PEPPER: TEST_PEPPER, SECRETS_KEYRING: KEYRING },
  });
}

async function scsJson(...words: string[]): Promise<Record<string, unknown>> {
  const data: unknown = JSON.parse(await scs(...words, '--json'));
  if (typeof data !== 'object' || data === null) throw new Error('the command printed no object');
  return { ...data };
}

const secretsOf = async (key: string): Promise<Answer> => callApi(api.url, key, 'GET', '/v1/webhooks/secrets');

describe('the managed secrets of an account', () => {
  it('begin with the account, are replaced and added by the operator, and are shown once', async () => {
    const { accountId } = await scsJson('account', 'create', '--name', 'Acme', '--email', 'a@example.com');
    const account = String(accountId);
    const { key } = await openKey(database.db, account);
    const first = await secretsOf(key);
    expect(JSON.parse(first.text)).toEqual({
      secrets: [
        { id: expect.stringMatching(/^whsec_/), status: 'active', createdAt: expect.any(String), expiresAt: null },
      ],
    });

    const rotated = await scsJson('secret', 'rotate', '--account', account);
    const value = String(rotated['secret']);
    expect(value).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
    expect(await resolveSigningSecret(database.db.system, { accountId: account, keyring })).toBe(value);
    const second = await secretsOf(key);
    expect(JSON.parse(second.text)).toMatchObject({
      secrets: [
        { id: rotated['secretId'], status: 'active', expiresAt: null },
        { status: 'retiring', expiresAt: expect.any(String) },
      ],
    });

    const added = await scsJson('secret', 'create', '--account', account);
    expect(await resolveSigningSecret(database.db.system, { accountId: account, keyring })).toBe(added['secret']);
    const listed = await scs('secret', 'list', '--account', account);
    expect(listed.trim().split('\n')).toHaveLength(3);
    expect(await scsJson('secret', 'list', '--account', account)).toEqual(JSON.parse((await secretsOf(key)).text));

    const everything = await query<{ row: string }>(
      database.db.system,
      'SELECT CAST(s AS text) AS row FROM webhook_secrets s',
    );
    for (const text of [second.text, listed, ...everything.map(({ row }) => row)])
      for (const made of [rotated, added]) expect(text).not.toContain(String(made['secret']).slice('whsec_'.length));
  }, 120_000);

  it.each([
    { words: ['secret', 'rotate', '--account', 'acct_nobody'], says: 'acct_nobody' },
    { words: ['secret', 'list'], says: '--account is required' },
  ])('$words is refused with a reason', async ({ words, says }) => {
    await expect(scs(...words)).rejects.toThrow(says);
  });
});

describe('a search that no secret can sign', () => {
  type Left = { searches: number; captures: number; keys: number; held: number; queued: number };

  async function leftBehind(accountId: string): Promise<Left | undefined> {
    const [row] = await query<Left>(
      database.db.system,
      `SELECT held, queued,
         (SELECT count(*) FROM searches WHERE account_id = a.id) AS searches,
         (SELECT count(*) FROM captures WHERE account_id = a.id) AS captures,
         (SELECT count(*) FROM idempotency_keys WHERE account_id = a.id) AS keys
       FROM accounts a WHERE id = :accountId`,
      { accountId },
    );
    return row;
  }

  const NOTHING: Left = { searches: 0, captures: 0, keys: 0, held: 0, queued: 0 };

  const without = {
    'there is none': () => Promise.resolve(),
    'the key ring lacks its key': async (accountId: string) => {
      const other = createKeyring(`k2:${randomBytes(32).toString('base64')}`);
      await createSecret(database.db.system, { accountId, keyring: other, clock: systemClock, randomBytes });
    },
    'the key ring has another key of the same name': async (accountId: string) => {
      const other = createKeyring(`k1:${randomBytes(32).toString('base64')}`);
      await createSecret(database.db.system, { accountId, keyring: other, clock: systemClock, randomBytes });
    },
    'it was made for another account': async (accountId: string) => {
      const donor = await openAccount(database.db);
      const { id } = await createSecret(database.db.system, {
        accountId: donor,
        keyring,
        clock: systemClock,
        randomBytes,
      });
      await query(database.db.system, 'UPDATE webhook_secrets SET account_id = :accountId WHERE id = :id', {
        accountId,
        id,
      });
    },
    'all are retiring': async (accountId: string) => {
      const { id } = await createSecret(database.db.system, { accountId, keyring, clock: systemClock, randomBytes });
      const retire = `UPDATE webhook_secrets SET status = 'retiring', expires_at = now() + interval '1 day' WHERE id = :id`;
      await query(database.db.system, retire, { id });
    },
  };

  it.each(Object.entries(without))(
    'is refused because %s, alone or as an item of a batch, and leaves no job, no hold and no key',
    async (_, prepare) => {
      const accountId = await openAccount(database.db);
      await prepare(accountId);
      const { key } = await openKey(database.db, accountId);
      const body = { ...SEARCH, idempotencyKey: 'once' };
      const answer = await callApi(api.url, key, 'POST', '/v1/search', body);
      expect(answer).toMatchObject({ status: 503, body: { code: 'WEBHOOK_SECRET_UNAVAILABLE' } });
      const batch = await callApi(api.url, key, 'POST', '/v1/search/batch', { items: [{}, body] });
      expect(batch.body.items).toMatchObject([
        { index: 0, status: 'rejected', code: 'VALIDATION_FAILED' },
        { index: 1, status: 'rejected', code: 'WEBHOOK_SECRET_UNAVAILABLE' },
      ]);
      expect(await leftBehind(accountId)).toEqual(NOTHING);
      const unsigned = { query: 'bicycles', surfaces: ['engine_news'] };
      const mixed = await callApi(api.url, key, 'POST', '/v1/search/batch', { items: [body, unsigned] });
      expect(mixed.body.items.map(({ status }) => status)).toEqual(['rejected', 'accepted']);

      const inline = { ...SEARCH, webhook: { ...WEBHOOK, secret: 'my own' } };
      expect((await callApi(api.url, key, 'POST', '/v1/search', inline)).status).toBe(202);
      await createSecret(database.db.system, { accountId, keyring, clock: systemClock, randomBytes });
      const accepted = await callApi(api.url, key, 'POST', '/v1/search', body);
      expect({ status: accepted.status, replayed: accepted.headers.get('idempotent-replayed') }).toEqual({
        status: 202,
        replayed: null,
      });

      await query(database.db.system, 'DELETE FROM webhook_secrets WHERE account_id = :accountId', { accountId });
      const again = await callApi(api.url, key, 'POST', '/v1/search', body);
      expect({ status: again.status, replayed: again.headers.get('idempotent-replayed') }).toEqual({
        status: 202,
        replayed: 'true',
      });
      expect(again.body.jobId).toBe(accepted.body.jobId);
      const replayed = await callApi(api.url, key, 'POST', '/v1/search/batch', { items: [body] });
      expect(replayed.body.items).toMatchObject([{ status: 'accepted', replayed: true, jobId: again.body.jobId }]);
    },
  );
});
