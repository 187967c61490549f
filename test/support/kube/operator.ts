import { randomUUID } from 'node:crypto';
import { loadPlans } from '../../../pkg/accounts/index.ts';
import { parsePodSettings, startOperator, type Operator, type OperatorOptions } from '../../../pkg/operator/index.ts';
import {
  conditionOf,
  resourceClient,
  type Condition,
  type Connection,
  type Desired,
  type Kind,
  type KubeObject,
} from '../../../pkg/operator/kube/index.ts';
import { systemClock } from '../../../pkg/runtime/index.ts';
import { createRegistry, type Registry } from '../../../pkg/telemetry/index.ts';
import { createWebhookGuard } from '../../../pkg/webhooks/index.ts';
import { TEST_PEPPER } from '../accounts.ts';
import { openTestDatabase, type TestDatabase } from '../database.ts';
import { readVariable } from '../environment.ts';
import { until } from '../poll.ts';
import { connectToKube, createNamespace, testLog } from './cluster.ts';
import { installOurKinds } from './definitions.ts';

export type TestOperator = {
  connection: Connection;
  namespace: string;
  database: TestDatabase;
  registry: Registry;
  /** Waits until both controllers are at work. */
  start(): Promise<Operator>;
  close(): Promise<void>;
};

export type TestOperatorOptions = {
  /** Of an API server of the test's own. */
  kubeConfigFile?: string;
  /** One that is there already; a fresh one otherwise. */
  database?: TestDatabase;
  timing?: OperatorOptions['timing'];
};

const WAIT_MS = 30_000;

/** The real operator, in this process, for one namespace of the shared API server or of another, on a database of its own. */
export async function openTestOperator({
  kubeConfigFile: ownKubeConfig,
  timing = {},
  ...own
}: TestOperatorOptions = {}): Promise<TestOperator> {
  const connection = connectToKube(ownKubeConfig);
  await installOurKinds(connection);
  const namespace = await createNamespace(connection);
  const database = own.database ?? (await openTestDatabase());
  const plans = await loadPlans('config/plans');
  const running: Operator[] = [];
  const registry = createRegistry();
  let closing = false;

  function begin(): Operator {
    const operator = startOperator({
      kubeConfigPath: ownKubeConfig ?? readVariable('TEST_KUBECONFIG'),
      namespace,
      lease: { name: 'controller', namespace },
      instance: 'test',
      identity: randomUUID(),
      db: database.db,
      guard: createWebhookGuard(''),
      plans,
      pepper: TEST_PEPPER,
      podSettings: parsePodSettings({ image: 'lane:test', envFrom: [{ secretRef: { name: 'lane-env' } }] }, 'test'),
      soonSeconds: 60,
      timing,
      clock: systemClock,
      log: testLog,
      registry: running.length === 0 ? registry : createRegistry(),
      // Its process ends then, and the cluster starts it anew.
      onLost: () => {
        if (!closing) begin();
      },
    });
    running.push(operator);
    return operator;
  }

  return {
    connection,
    namespace,
    database,
    registry,
    start: async () => {
      const operator = begin();
      await until(() => operator.isSynced(), { timeoutMs: WAIT_MS, what: 'the caches are full' });
      return operator;
    },
    close: async () => {
      closing = true;
      await Promise.all(running.map((operator) => operator.stop()));
      if (own.database === undefined) await database.close();
      await connection.close();
    },
  };
}

type Conditioned = KubeObject & {
  readonly status?: { readonly conditions?: readonly Condition[]; readonly observedGeneration?: number };
};

/** Waits until the object's current generation has a condition of this reason, and returns the condition. */
export async function waitForReason<T extends Conditioned>(
  connection: Connection,
  kind: Kind<T>,
  key: { namespace: string; name: string },
  type: string,
  reason: string,
  timeoutMs = WAIT_MS,
): Promise<Condition> {
  const resources = resourceClient(connection, kind);
  let last: Condition | undefined;
  try {
    return await until(
      async () => {
        const { status, metadata } = await resources.get(key);
        last = conditionOf(status?.conditions, type);
        return status?.observedGeneration === metadata.generation && last?.reason === reason && last;
      },
      { timeoutMs, what: `${type} is ${reason}` },
    );
  } catch (error) {
    throw new Error(`${String(error)}; it is ${JSON.stringify(last)}`, { cause: error });
  }
}

/** Applies an object as a person does. */
export async function applyAsUser<T extends KubeObject>(
  connection: Connection,
  kind: Kind<T>,
  object: Desired<T>,
): Promise<T> {
  return resourceClient(connection, kind).apply(object, { fieldManager: 'a-person' });
}
