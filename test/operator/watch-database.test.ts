import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { core, resourceClient } from '../../pkg/operator/kube/index.ts';
import { watches, type WatchObject } from '../../pkg/operator/resources/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { describeOnKube } from '../support/kube/cluster.ts';
import { applyAsUser, openTestOperator, waitForReason, type TestOperator } from '../support/kube/operator.ts';
import { until } from '../support/poll.ts';
import { openOwnPostgres, type OwnPostgres } from '../support/postgres.ts';

/** Several polls of Postgres, and the time that it takes to start again. */
const WAIT_MS = 90_000;

describeOnKube('a Watch whose row in Postgres', () => {
  let postgres: OwnPostgres;
  let world: TestOperator;
  beforeAll(async () => {
    postgres = await openOwnPostgres();
    world = await openTestOperator({
      database: postgres.database,
      timing: { resyncMs: 2_000, databaseGraceMs: 1_000 },
    });
    await world.start();
    const { key } = await openKey(postgres.database.db, await openAccount(postgres.database.db, { plan: 'pro' }));
    await applyAsUser(world.connection, core.secrets, {
      metadata: { name: 'key', namespace: world.namespace },
      data: { key: Buffer.from(key).toString('base64') },
    });
  }, WAIT_MS);
  afterAll(async () => {
    await world.close();
    await postgres.close();
  });

  const apply = (name: string) =>
    applyAsUser(world.connection, watches, {
      metadata: { name, namespace: world.namespace },
      spec: {
        query: 'x',
        surfaces: ['engine_news'],
        schedule: { every: '1h' },
        apiKeySecretRef: { name: 'key', key: 'key' },
      },
    });
  const keyOf = (name: string) => ({ namespace: world.namespace, name });
  const waitFor = (name: string, reason: string) =>
    waitForReason(world.connection, watches, keyOf(name), 'Ready', reason, WAIT_MS);
  const read = (name: string): Promise<WatchObject> => resourceClient(world.connection, watches).get(keyOf(name));
  const run = (statement: string, id: string) => query(postgres.database.db.system, statement, { id });

  it.each([
    {
      what: 'was changed by somebody else',
      change: `UPDATE watches SET query = 'y', interval_minutes = 7 WHERE id = :id`,
    },
    {
      what: 'was paused by somebody else',
      change: `UPDATE watches SET status = 'paused', paused_reason = 'user' WHERE id = :id`,
    },
  ])(
    '$what is put right without any change in the cluster, which is then at rest again',
    async ({ change }) => {
      await apply('changed');
      await waitFor('changed', 'Scheduled');
      const id = (await read('changed')).status?.id ?? '';
      await run(change, id);
      await until(
        async () => {
          const rows = await run(
            "SELECT id FROM watches WHERE id = :id AND query = 'x' AND interval_minutes = 60 AND status = 'active'",
            id,
          );
          return rows.length === 1;
        },
        { timeoutMs: WAIT_MS, what: 'the row is as the resource wants it' },
      );
      await waitFor('changed', 'Scheduled');
    },
    2 * WAIT_MS,
  );

  it(
    'was canceled by somebody else gets another, and its status says which',
    async () => {
      await apply('canceled');
      await waitFor('canceled', 'Scheduled');
      const id = (await read('canceled')).status?.id ?? '';
      await run(`UPDATE watches SET status = 'canceled' WHERE id = :id`, id);
      await until(async () => ![undefined, id].includes((await read('canceled')).status?.id), {
        timeoutMs: WAIT_MS,
        what: 'the status names another watch',
      });
      await waitFor('canceled', 'Scheduled');
    },
    2 * WAIT_MS,
  );

  it(
    'can not be read says so, keeps what was known, writes it once, and goes on when Postgres is back',
    async () => {
      await apply('away');
      await waitFor('away', 'Scheduled');
      const before = await read('away');
      await postgres.kill9();
      expect(await waitFor('away', 'DatabaseUnreachable')).toMatchObject({
        status: 'Unknown',
        message: expect.stringContaining("Check Postgres and the controller's DATABASE_URL."),
      });
      const during = await read('away');
      expect(during.status).toMatchObject({ id: before.status?.id, nextRunAt: before.status?.nextRunAt });
      await apply('made-meanwhile');
      await waitFor('made-meanwhile', 'DatabaseUnreachable');
      expect((await read('made-meanwhile')).metadata.finalizers).toBeUndefined();
      const passes = await countPasses();
      await until(async () => (await countPasses()) >= passes + 6, { timeoutMs: WAIT_MS, what: 'six more passes' });
      expect((await read('away')).metadata.resourceVersion).toBe(during.metadata.resourceVersion);

      await postgres.restart();
      for (const name of ['away', 'made-meanwhile']) await waitFor(name, 'Scheduled');
      expect((await read('away')).status?.id).toBe(before.status?.id);
    },
    4 * WAIT_MS,
  );

  async function countPasses(): Promise<number> {
    const metric = await world.registry.getSingleMetric('controller_runtime_reconcile_total')?.get();
    const own = metric?.values.filter(({ labels }) => labels['controller'] === 'watch') ?? [];
    return own.reduce((sum, { value }) => sum + value, 0);
  }
});
