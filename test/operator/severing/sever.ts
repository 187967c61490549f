import { Registry } from 'prom-client';
import { KubeConfig } from '@kubernetes/client-node';
import {
  connect,
  controllerFor,
  createApplier,
  createInformer,
  formatKey,
  KubeError,
  keyOf,
  keepManagedFieldsOf,
  loadKubeConfig,
  resourceClient,
  type Connection,
} from '../../../pkg/operator/kube/index.ts';
import { pause } from '../../../pkg/runtime/index.ts';
import { createNamespace, installWidgets, testLog, widgets } from '../../support/kube/objects.ts';
import { startProxy, type Proxy } from '../../support/kube/proxy.ts';
import type { KubeServer } from '../../support/kube/server.ts';
import { until } from '../../support/poll.ts';

export type SeverOptions = {
  durationMs: number;
  /** How many names are created, changed and deleted all the time. */
  keys: number;
  seed: number;
  /** At most so long after one another the API server itself is stopped and resumed, or killed and started again. Never unless told. */
  serverBreakMs?: number;
  /** Called every second, for who watches. */
  onSecond?: () => void;
};

export type SeverReport = {
  durationMs: number;
  writes: number;
  breaks: number;
  /** Of the API server. */
  serverBreaks: number;
  /** TCP connections, reads and writes of the controller's side. */
  connections: number;
  reads: number;
  statusWrites: number;
  passes: number;
  /** How long after the network was whole again everything was as it should be. */
  settledMs: number;
  /** Keys whose last change the controller never acted on. */
  lost: readonly string[];
};

const SETTLE_TIMEOUT_MS = 60_000;
const MANAGER = 'severed';

/**
 * Runs a controller that copies `spec.size` to `status.size`, behind a network that is cut, stalled, delayed and refused
 * at random, before an API server that stops at random, while objects come, change and go; then lets all heal and looks
 * whether anything was missed.
 */
export async function sever(server: KubeServer, options: SeverOptions): Promise<SeverReport> {
  const random = seededRandom(options.seed);
  const proxy = await startProxy(server.port);
  const registry = new Registry();
  const direct = connect({ kubeConfig: loadKubeConfig(server.kubeConfigFile), userAgent: 'writer' });
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(server.kubeConfigVia(proxy.port));
  const proxied = connect({ kubeConfig, userAgent: 'controller', registry });
  try {
    await installWidgets(direct);
    const namespace = await createNamespace(direct);
    const side = startController(proxied, namespace, registry);
    const world = createWorld(direct, namespace, options.keys, random);
    const over = AbortSignal.timeout(options.durationMs);
    const startedMs = performance.now();
    const { serverBreakMs } = options;
    const [writes, breaks, serverBreaks] = await Promise.all([
      repeat(
        over,
        () => world.change(),
        () => random() * 20,
      ),
      repeat(
        over,
        () => breakNetwork(proxy, random),
        () => 100 + random() * 1_400,
      ),
      serverBreakMs === undefined
        ? 0
        : repeat(
            over,
            () => breakServer(server, random),
            () => serverBreakMs * (0.5 + random() / 2),
          ),
      repeat(
        over,
        () => options.onSecond?.(),
        () => 1_000,
      ),
    ]);
    const counts = { connections: proxy.opened(), passes: side.passes(), ...(await countCalls(registry)) };
    heal(proxy);
    const healedMs = performance.now();
    await until(async () => (await world.missed(side.seen)).length === 0, {
      timeoutMs: SETTLE_TIMEOUT_MS,
      what: 'everything is acted on',
    }).catch(() => undefined);
    const settledMs = performance.now() - healedMs;
    const lost = await world.missed(side.seen);
    await side.stop();
    return { durationMs: healedMs - startedMs, writes, breaks, serverBreaks, ...counts, settledMs, lost };
  } finally {
    await proxied.close();
    await direct.close();
    await proxy.close();
  }
}

type Side = { seen: ReadonlyMap<string, number>; passes(): number; stop(): Promise<void> };

function startController(connection: Connection, namespace: string, registry: Registry): Side {
  const resources = resourceClient(connection, widgets);
  const applier = createApplier(MANAGER);
  const seen = new Map<string, number>();
  let passes = 0;
  const informer = createInformer({
    resources,
    scope: { namespace },
    transform: keepManagedFieldsOf(MANAGER),
    log: testLog,
    registry,
    timing: {
      inactivityMs: 3_000,
      backOffMinMs: 100,
      backOffMaxMs: 2_000,
      listTimeoutMs: 3_000,
      watchMinMs: 5_000,
      watchMaxMs: 20_000,
    },
  });
  informer.start();
  const controller = controllerFor({
    name: 'severed',
    informer,
    concurrency: 4,
    timeoutMs: 5_000,
    backOff: { minMs: 100, maxMs: 2_000 },
    log: testLog,
    registry,
    reconcile: async (key, signal) => {
      passes += 1;
      const widget = informer.get(key);
      const size = widget?.spec?.size;
      if (widget !== undefined && size !== undefined) {
        const desired = { metadata: key, status: { size } };
        await applier.ensureStatus(resources, widget, desired, { signal, timeoutMs: 2_000 });
      }
      if (size === undefined) seen.delete(formatKey(key));
      else seen.set(formatKey(key), size);
      return {};
    },
  }).start();
  return {
    seen,
    passes: () => passes,
    stop: async () => {
      await controller.stop(0);
      await informer.stop();
    },
  };
}

type World = { change(): Promise<void>; missed(seen: ReadonlyMap<string, number>): Promise<readonly string[]> };

/** Objects that come, change and go one at a time, over a network that holds. What became of them the server knows. */
function createWorld(connection: Connection, namespace: string, keys: number, random: () => number): World {
  const resources = resourceClient(connection, widgets);
  let last = 0;
  const change = async (): Promise<unknown> => {
    const key = { namespace, name: `widget-${Math.floor(random() * keys)}` };
    if (random() < 0.2) return resources.delete(key);
    last = (last + 1) % 1_000;
    return resources.apply({ metadata: key, spec: { size: last } }, { fieldManager: 'world' });
  };
  return {
    change: async () => {
      try {
        await change();
      } catch (error) {
        // The server is away, and may have taken it.
        if (!(error instanceof KubeError)) throw error;
      }
    },
    missed: async (seen) => {
      const { items } = await resources.list({ namespace });
      const widgetsByName = new Map(items.map((item) => [formatKey(keyOf(item)), item]));
      return [...new Set([...seen.keys(), ...widgetsByName.keys()])].filter((name) => {
        const widget = widgetsByName.get(name);
        return seen.get(name) !== widget?.spec?.size || widget?.spec?.size !== widget?.status?.size;
      });
    },
  };
}

/** Stops the API server for up to 5 s where it is, or kills it and starts it again. */
async function breakServer(server: KubeServer, random: () => number): Promise<void> {
  if (random() < 0.5) {
    server.freeze();
    await pause(random() * 5_000);
    server.thaw();
    return;
  }
  await server.kill9();
  await pause(random() * 2_000);
  await server.restart();
}

function breakNetwork(proxy: Proxy, random: () => number): void {
  heal(proxy);
  const draw = random();
  if (draw < 0.4) proxy.cut();
  else if (draw < 0.6) proxy.stall();
  else if (draw < 0.8) proxy.delay(random() * 300);
  else {
    proxy.refuse(true);
    proxy.cut();
  }
}

function heal(proxy: Proxy): void {
  proxy.refuse(false);
  proxy.delay(0);
}

/** Repeats until `over`; resolves to how often. */
async function repeat(over: AbortSignal, action: () => unknown, delayMs: () => number): Promise<number> {
  let count = 0;
  for (; !over.aborted; count += 1) {
    await action();
    await pause(delayMs(), over);
  }
  return count;
}

async function countCalls(registry: Registry): Promise<{ reads: number; statusWrites: number }> {
  const { values = [] } = (await registry.getSingleMetric('rest_client_requests_total')?.get()) ?? {};
  const countOf = (method: string): number =>
    values.filter(({ labels }) => labels['method'] === method).reduce((sum, { value }) => sum + value, 0);
  return { reads: countOf('GET'), statusWrites: countOf('PATCH') };
}

/** Mulberry32: the same breaks again for the same seed. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
