import { Registry } from 'prom-client';
import {
  connect,
  controllerFor,
  createApplier,
  createInformer,
  keepManagedFieldsOf,
  loadKubeConfig,
  resourceClient,
  setConditions,
  type Connection,
  type Desired,
  type Key,
  type ResourceClient,
} from '../../pkg/operator/kube/index.ts';
import { createNamespace, installWidgets, testLog, widgets, type Widget } from '../support/kube/objects.ts';
import { ensureKubePrograms } from '../support/kube/programs.ts';
import { startKube } from '../support/kube/server.ts';
import { until } from '../support/poll.ts';
import type { Row } from './table.ts';

// As many as 1,000 CaptureLanes and 10,000 Watches are.
const OBJECTS = 11_000;
const CONCURRENCY = 8;
const PATIENCE_MS = 30 * 60_000;

type Bench = { connection: Connection; registry: Registry; resources: ResourceClient<Widget>; namespace: string };

/**
 * The control loop against a bare client that writes the same statuses to the same API server with as many calls at
 * once: what a controller costs beyond its writes. Then the same objects once more, where nothing is left to write.
 */
export async function benchOperator(): Promise<Row[]> {
  const say = (line: string): void => console.error(line);
  const server = await startKube(await ensureKubePrograms({ env: process.env, say }));
  const registry = new Registry();
  const kubeConfig = loadKubeConfig(server.kubeConfigFile);
  const connection = connect({ kubeConfig, userAgent: 'bench', registry });
  try {
    await installWidgets(connection);
    const resources = resourceClient(connection, widgets);
    const open = async (): Promise<Bench> => {
      const namespace = await createNamespace(connection);
      await createAll(resources, namespace);
      return { connection, registry, resources, namespace };
    };
    const [forBare, forOurs] = [await open(), await open()];
    const bare = await timeBare(forBare);
    const ours = await timeController(forOurs);
    if (ours.writes !== OBJECTS) throw new Error(`${ours.writes} writes for ${OBJECTS} objects`);
    const again = await timeController(forOurs);
    console.log(`steady state: ${again.writes} writes for ${OBJECTS} objects after a restart of the controller`);
    return [
      {
        name: `apply to reconciled, ${OBJECTS} objects`,
        ours: ours.ms / 1000,
        bare: bare / 1000,
        unit: 's',
        atMost: 2,
      },
      {
        name: 'the same again with nothing to write',
        ours: again.ms / 1000,
        bare: bare / 1000,
        unit: 's',
        atMost: 0.5,
      },
    ];
  } finally {
    await connection.close();
    await server.close();
  }
}

const keysOf = (namespace: string): readonly Key[] =>
  Array.from({ length: OBJECTS }, (_, at) => ({ namespace, name: `widget-${at}` }));

function statusOf(widget: Widget): Desired<Widget> {
  const { generation = 0, name, namespace = '' } = widget.metadata;
  const verdict = {
    type: 'Ready',
    status: 'True',
    reason: 'Reconciled',
    message: 'Everything is as it should be',
  } as const;
  const conditions = setConditions(widget.status?.conditions, [verdict], { generation, nowMs: Date.now() });
  const status = { size: widget.spec?.size ?? 0, observedGeneration: generation, conditions };
  return { metadata: { name, namespace }, status };
}

async function createAll(resources: ResourceClient<Widget>, namespace: string): Promise<void> {
  await eachAtOnce(keysOf(namespace), async (key) => {
    await resources.apply({ metadata: key, spec: { size: 1, colours: ['red'] } }, { fieldManager: 'user' });
  });
}

async function timeBare({ resources, namespace }: Bench): Promise<number> {
  const { items } = await resources.list({ namespace });
  const startedMs = performance.now();
  await eachAtOnce(items, async (widget) => {
    await resources.applyStatus(statusOf(widget), { fieldManager: 'bench' });
  });
  return performance.now() - startedMs;
}

async function timeController({ registry, resources, namespace }: Bench): Promise<{ ms: number; writes: number }> {
  const writesBefore = await countWrites(registry);
  const applier = createApplier('bench');
  const done = new Set<string>();
  const startedMs = performance.now();
  const informer = createInformer({
    resources,
    scope: { namespace },
    transform: keepManagedFieldsOf('bench'),
    log: testLog,
  });
  informer.start();
  const controller = controllerFor({
    name: 'bench',
    informer,
    concurrency: CONCURRENCY,
    log: testLog,
    reconcile: async (key, signal) => {
      const widget = informer.get(key);
      if (widget !== undefined) await applier.ensureStatus(resources, widget, statusOf(widget), { signal });
      done.add(key.name);
      return {};
    },
  }).start();
  await until(() => done.size === OBJECTS, { timeoutMs: PATIENCE_MS, what: 'all are reconciled', everyMs: 5 });
  const ms = performance.now() - startedMs;
  await controller.stop();
  await informer.stop();
  return { ms, writes: (await countWrites(registry)) - writesBefore };
}

async function countWrites(registry: Registry): Promise<number> {
  const { values = [] } = (await registry.getSingleMetric('rest_client_requests_total')?.get()) ?? {};
  return values.filter(({ labels }) => labels['method'] !== 'GET').reduce((sum, { value }) => sum + value, 0);
}

async function eachAtOnce<T>(all: readonly T[], action: (one: T) => Promise<void>): Promise<void> {
  const rest = all.values();
  const work = async (): Promise<void> => {
    for (const one of rest) await action(one);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}
