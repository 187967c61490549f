import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { core, resourceClient, type Lease } from '../../pkg/operator/kube/index.ts';
import { captureLanes, watches } from '../../pkg/operator/resources/index.ts';
import { readLanes } from '../../pkg/lanes/index.ts';
import { openAccount, openKey, TEST_PEPPER } from '../support/accounts.ts';
import { readVariable } from '../support/environment.ts';
import { describeOnKube } from '../support/kube/cluster.ts';
import { applyAsUser, openTestOperator, waitForReason, type TestOperator } from '../support/kube/operator.ts';
import { startKube, type KubeServer } from '../support/kube/server.ts';
import { until } from '../support/poll.ts';
import { openTestProcesses, type TestProcess, type TestProcesses } from '../support/processes.ts';

const LANE = {
  surface: 'engine_news' as const,
  driver: 'browser',
  profile: { go: { url: 'https://engine.example/' }, ask: [], finished: { quietMs: 100 }, read: { answer: 'p' } },
};
/** A lease is taken over 15 s after its last renewal; a busy machine adds to that. */
const HANDOVER_MS = 90_000;

describeOnKube('two controllers', () => {
  let world: TestOperator;
  let processes: TestProcesses;
  let replicas: TestProcess[] = [];
  beforeAll(async () => {
    world = await openTestOperator();
    processes = await openTestProcesses({
      DATABASE_URL: world.database.url,
      API_KEY_PEPPER: TEST_PEPPER,
      KUBECONFIG: readVariable('TEST_KUBECONFIG'),
      WATCH_NAMESPACE: world.namespace,
      POD_NAMESPACE: world.namespace,
    });
    replicas = await Promise.all(['first', 'second'].map((name) => processes.start('controller', { POD_NAME: name })));
  });
  afterAll(async () => {
    await processes.close();
    await world.close();
  });

  const leaseKey = () => ({ namespace: world.namespace, name: 'search-capture-controller' });
  const findHolder = (): Promise<string> =>
    until(
      async () => {
        const lease: Lease | undefined = await resourceClient(world.connection, core.leases).find(leaseKey());
        return lease?.spec?.holderIdentity?.split('_')[0];
      },
      { timeoutMs: HANDOVER_MS, what: 'somebody leads' },
    );

  it(
    'share the work as one: when the leader is killed, the other goes on',
    async () => {
      const accountId = await openAccount(world.database.db, { plan: 'pro' });
      const { key } = await openKey(world.database.db, accountId);
      await applyAsUser(world.connection, core.secrets, {
        metadata: { name: 'key', namespace: world.namespace },
        data: { key: Buffer.from(key).toString('base64') },
      });
      const applyWatch = async (name: string): Promise<void> => {
        await applyAsUser(world.connection, watches, {
          metadata: { name, namespace: world.namespace },
          spec: {
            query: 'x',
            surfaces: ['engine_news'],
            schedule: { every: '1h' },
            apiKeySecretRef: { name: 'key', key: 'key' },
          },
        });
      };
      await applyWatch('before');
      await waitForReason(
        world.connection,
        watches,
        { namespace: world.namespace, name: 'before' },
        'Ready',
        'Scheduled',
      );
      const leader = await findHolder();
      await replicas[leader === 'first' ? 0 : 1]?.kill9();
      await applyWatch('after');
      await until(async () => (await findHolder()) !== leader, { timeoutMs: HANDOVER_MS, what: 'the other leads' });
      await waitForReason(
        world.connection,
        watches,
        { namespace: world.namespace, name: 'after' },
        'Ready',
        'Scheduled',
      );
    },
    2 * HANDOVER_MS,
  );

  it(
    'hand over at once when the leader is asked to stop',
    async () => {
      const leader = await findHolder();
      const third = await processes.start('controller', { POD_NAME: 'third' });
      await replicas[leader === 'first' ? 0 : 1]?.stop();
      await until(async () => (await findHolder()) === 'third', { timeoutMs: 14_000, what: 'the third leads' });
      expect(third.hasEnded()).toBe(false);
    },
    HANDOVER_MS,
  );
});

describeOnKube('a controller whose API server goes away', () => {
  let server: KubeServer;
  let world: TestOperator;
  beforeAll(async () => {
    server = await startKube(readVariable('TEST_KUBE_PROGRAMS'));
    world = await openTestOperator({ kubeConfigFile: server.kubeConfigFile });
    await world.start();
  });
  afterAll(async () => {
    await world.close();
    await server.close();
  });

  it(
    'goes on when it is back, with what was changed meanwhile',
    async () => {
      const apply = (name: string, more: object) =>
        applyAsUser(world.connection, captureLanes, {
          metadata: { name, namespace: world.namespace },
          spec: { ...LANE, ...more },
        });
      const key = { namespace: world.namespace, name: 'one' };
      await apply('one', {});
      await waitForReason(world.connection, captureLanes, key, 'Ready', 'Idle');
      await server.restart();
      await until(() => apply('one', { suspend: true }).catch(() => undefined), {
        timeoutMs: HANDOVER_MS,
        what: 'the API server answers',
      });
      await waitForReason(world.connection, captureLanes, key, 'Ready', 'Suspended', HANDOVER_MS);
      expect((await readLanes(world.database.db.system)).get('engine_news')).toMatchObject({ live: false });
    },
    2 * HANDOVER_MS,
  );
});
