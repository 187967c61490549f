import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { query, type Sql } from '../../pkg/postgres/index.ts';
import { listDeliveries } from '../../pkg/webhooks/index.ts';
import { LINE_BEGINS, readDue } from '../../pkg/webhooks/due.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { endDelivery } from '../support/deliveries.ts';
import { until } from '../support/poll.ts';

let database: TestDatabase;
let sql: Sql;
let accountId: string;
beforeEach(async () => {
  database = await openTestDatabase();
  sql = database.db.system;
  accountId = await openAccount(database.db);
});
afterEach(() => database.close());

/** In one transaction, so that all were made at the same moment. */
async function makeTogether(count: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    sql,
    `INSERT INTO webhook_deliveries (id, account_id, capture_id, type, url, body)
     SELECT 'evt_' || lpad(CAST(n AS text), 26, '0'), :accountId, 'job_' || n || '.engine_news.us', 'job.completed',
       'https://hook.test/', '{}' FROM generate_series(1, :count) n RETURNING id`,
    { accountId, count },
  );
  return rows.map(({ id }) => id);
}

describe('a list of deliveries that were made at the same moment', () => {
  it.each(['pending', 'delivered', 'dead', 'gone', null] as const)(
    'pages by id where its state is %s',
    async (state) => {
      const ids = await makeTogether(12);
      const wanted = state === null ? ids : ids.filter((_, place) => place % 2 === 0);
      for (const id of ids) {
        const ends = wanted.includes(id) ? state : 'delivered';
        if (ends !== 'pending' && ends !== null) await endDelivery(sql, id, { state: ends });
      }
      if (state === 'delivered') wanted.push(...ids.filter((id) => !wanted.includes(id)));
      const seen: string[] = [];
      for (;;) {
        const [last] = seen.slice(-1);
        const [of = null] = last === undefined ? [] : await listDeliveries(sql, { accountId, limit: 1 });
        const after = last === undefined || of === null ? null : { createdAt: of.createdAt, id: last };
        const page = await listDeliveries(sql, { accountId, limit: 5, after, ...(state === null ? {} : { state }) });
        if (page.length === 0) break;
        seen.push(...page.map(({ id }) => id));
      }
      expect(seen).toEqual(wanted.toSorted().reverse());
    },
  );
});

async function countScans(): Promise<Record<string, number>> {
  const rows = await query<{ name: string; scans: number }>(
    sql,
    `SELECT indexrelname AS name, idx_scan AS scans FROM pg_stat_user_indexes WHERE relname = 'webhook_deliveries'`,
  );
  return Object.fromEntries(rows.map(({ name, scans }) => [name, scans]));
}

it('what is due is looked up by its id, also while Postgres believes that there are no deliveries', async () => {
  await makeTogether(500);
  await sql.raw('ALTER TABLE webhook_deliveries SET (autovacuum_enabled = off)');
  await sql.raw(`UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relname = 'webhook_deliveries'`);
  const before = await countScans();
  const due = await readDue(sql, [{ accountId, after: LINE_BEGINS, most: 400 }], []);
  expect(due).toHaveLength(400);
  // Counted by the server a moment later, of all indexes at once.
  const after = await until(
    async () => {
      const now = await countScans();
      const more = Object.keys(now).filter((name) => (now[name] ?? 0) > (before[name] ?? 0));
      return more.length > 0 ? more : undefined;
    },
    { timeoutMs: 15_000, what: 'the statistics of the read' },
  );
  expect(after).toEqual(['webhook_deliveries_pkey']);
});
