import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createKeyring } from '../../pkg/config/index.ts';
import { newId } from '../../pkg/contract/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { cancelSearch } from '../../pkg/searches/index.ts';
import {
  forgetDeliveries,
  insertDelivery,
  listDeliveries,
  redeliver,
  sealInlineSecret,
} from '../../pkg/webhooks/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { endDelivery } from '../support/deliveries.ts';
import { accept } from '../support/searches.ts';

const keyring = createKeyring(`k1:${randomBytes(32).toString('base64')}`);
const DAYS = 30;

let database: TestDatabase;
let accountId: string;
beforeAll(async () => {
  database = await openTestDatabase();
  accountId = await openAccount(database.db);
});
afterAll(() => database.close());

type Age = { state: 'pending' | 'delivered' | 'dead' | 'gone'; days: number; due?: boolean };

/** A delivery that ended, or has waited, for so many days. */
async function makeDelivery({ state, days, due = false }: Age): Promise<string> {
  const sql = database.db.system;
  const id = newId('evt', Date.now());
  await insertDelivery(sql, {
    id,
    accountId,
    captureId: `${newId('job', Date.now())}.engine_news.us`,
    type: 'job.completed',
    url: 'https://hook.test/',
    secretCiphertext: sealInlineSecret(keyring, 'a secret', { searchId: id, accountId }),
    body: '{}',
  });
  await query(
    sql,
    `UPDATE webhook_queue SET created_at = now() - make_interval(days => :days),
       started_at = now() - make_interval(days => :days),
       next_attempt_at = CASE WHEN :due THEN now() ELSE now() + interval '1 minute' END
     WHERE delivery_id = :id`,
    { id, days, due },
  );
  if (state !== 'pending') await endDelivery(sql, id, { state, days });
  return id;
}

const stateOf = async (id: string): Promise<string> =>
  (await listDeliveries(database.db.system, { accountId, limit: 100 })).find((one) => one.id === id)?.state ??
  'gone from the log';

it.each<Age & { then: string }>([
  { state: 'delivered', days: 31, then: 'gone from the log' },
  { state: 'dead', days: 31, then: 'gone from the log' },
  { state: 'gone', days: 31, then: 'gone from the log' },
  { state: 'delivered', days: 29, then: 'delivered' },
  { state: 'pending', days: 29, then: 'pending' },
  { state: 'pending', days: 31, then: 'dead' },
  { state: 'pending', days: 31, due: true, then: 'pending' },
])('a delivery that is $state for $days days (due or under way: $due) is then $then', async ({ then, ...age }) => {
  const id = await makeDelivery(age);
  await forgetDeliveries(database.db, { days: DAYS });
  expect(await stateOf(id)).toBe(then);
});

it('a delivery that was started over by hand has its time again', async () => {
  const id = await makeDelivery({ state: 'dead', days: 29 });
  await redeliver(database.db.system, { accountId, id });
  await query(
    database.db.system,
    `UPDATE webhook_queue SET created_at = now() - interval '31 days' WHERE delivery_id = :id`,
    { id },
  );
  await forgetDeliveries(database.db, { days: DAYS });
  expect(await stateOf(id)).toBe('pending');
});

it('many of them go turn by turn, by two sweepers at once', async () => {
  const ids = await Promise.all(Array.from({ length: 40 }, () => makeDelivery({ state: 'delivered', days: 40 })));
  const sweep = async (): Promise<void> => {
    while ((await forgetDeliveries(database.db, { days: DAYS })) > 0);
  };
  await Promise.all([sweep(), sweep()]);
  expect(new Set(await Promise.all(ids.map(stateOf)))).toEqual(new Set(['gone from the log']));
});

it("a search's sealed secret is forgotten when the search has ended, and not before", async () => {
  const secretOf = async (jobId: string): Promise<string | null | undefined> =>
    (
      await query<{ sealed: string | null }>(
        database.db.system,
        'SELECT webhook_secret_ciphertext AS sealed FROM searches WHERE id = :jobId',
        { jobId },
      )
    )[0]?.sealed;
  const webhook = {
    url: 'https://hook.test/',
    sealSecret: (searchId: string) => sealInlineSecret(keyring, 's', { searchId, accountId }),
  };
  const { jobId } = await accept(database.db, accountId, { webhook });
  await forgetDeliveries(database.db, { days: DAYS });
  expect(await secretOf(jobId)).toMatch(/^v1:/);

  await cancelSearch({ db: database.db, clock: systemClock }, accountId, jobId);
  await forgetDeliveries(database.db, { days: DAYS });
  expect(await secretOf(jobId)).toBeNull();
  const [delivery] = await listDeliveries(database.db.system, { accountId, limit: 1, jobId });
  expect(delivery).toMatchObject({ type: 'job.canceled', state: 'pending' });
});
