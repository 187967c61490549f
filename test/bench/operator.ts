import { readFile } from 'node:fs/promises';
import {
  connect,
  core,
  loadKubeConfig,
  resourceClient,
  type Condition,
  type Connection,
  type Desired,
  type Kind,
  type KubeObject,
} from '../../pkg/operator/kube/index.ts';
import { SURFACES } from '../../pkg/contract/index.ts';
import { captureLanes, watches, type CaptureLaneObject, type WatchObject } from '../../pkg/operator/resources/index.ts';
import { pause } from '../../pkg/runtime/index.ts';
import { openAccount, openKey, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { installOurKinds } from '../support/kube/definitions.ts';
import { createNamespace } from '../support/kube/objects.ts';
import { ensureKubePrograms } from '../support/kube/programs.ts';
import { startKube } from '../support/kube/server.ts';
import { until } from '../support/poll.ts';
import { openTestProcesses, type TestProcess } from '../support/processes.ts';
import { countWrites, readMetrics, sumOf, type Writes } from './metrics.ts';
import type { Row } from './table.ts';

const LANES = Number(process.env['BENCH_LANES'] ?? 1_000);
const WATCHES = Number(process.env['BENCH_WATCHES'] ?? 10_000);
const STEADY_SECONDS = Number(process.env['BENCH_STEADY_SECONDS'] ?? 60);
/** Calls of the bare client at once: more make it no faster here. */
const CONCURRENCY = 8;
const PATIENCE_MS = 15 * 60_000;

const say = (line: string): void => console.error(line);

type Reconciled = KubeObject & {
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
};
type Everything = { lanes: readonly CaptureLaneObject[]; watches: readonly WatchObject[] };

/**
 * The controller, as the process that it is, from its start to the last status of resources that were applied before;
 * against a bare client that writes the same statuses to the same API server. Then whether it is at rest, and what a
 * new leader costs.
 */
export async function benchOperator(): Promise<Row[]> {
  const server = await startKube(await ensureKubePrograms({ env: process.env, say }));
  const connection = connect({ kubeConfig: loadKubeConfig(server.kubeConfigFile), userAgent: 'bench' });
  const database = await openTestDatabase();
  const namespace = await createOurNamespace(connection, database);
  const processes = await openTestProcesses({
    DATABASE_URL: database.url,
    API_KEY_PEPPER: TEST_PEPPER,
    KUBECONFIG: server.kubeConfigFile,
    WATCH_NAMESPACE: namespace,
    POD_NAMESPACE: namespace,
  });
  try {
    await applyAll(connection, namespace);
    const first = await timeController(connection, processes, namespace);
    report('from its start to the last status', first);
    const steady = await countWrites(connection, () => pause(STEADY_SECONDS * 1000));
    say(`${STEADY_SECONDS} s at rest: ${JSON.stringify(steady)}`);
    await first.controller.stop();

    const again = await timeController(connection, processes, namespace);
    report('a new leader', again);
    await again.controller.stop();

    const twin = await createOurNamespace(connection, database);
    await applyAll(connection, twin);
    const bareMs = await timeBare(connection, await readAll(connection, namespace), twin);
    return [
      {
        name: `${LANES} CaptureLanes and ${WATCHES} Watches from apply to reconciled / their statuses written barely`,
        ours: first.ms / 1000,
        bare: bareMs / 1000,
        unit: 's',
        atMost: 2,
      },
      {
        name: 'the same for a new leader, with nothing to write',
        ours: again.ms / 1000,
        bare: bareMs / 1000,
        unit: 's',
        atMost: 1,
      },
      {
        name: `writes in ${STEADY_SECONDS} s at rest, the Lease aside`,
        ours: sumOf(steady) + sumOf(again.writes),
        bare: LANES + WATCHES,
        unit: 'writes',
        atMost: 0,
      },
    ];
  } finally {
    await processes.close();
    await database.close();
    await connection.close();
    await server.close();
  }
}

async function createOurNamespace(connection: Connection, { db }: TestDatabase): Promise<string> {
  await installOurKinds(connection);
  const namespace = await createNamespace(connection);
  const { key } = await openKey(db, await openAccount(db, { plan: 'internal' }));
  await resourceClient(connection, core.secrets).create({
    metadata: { namespace, name: 'key' },
    data: { key: Buffer.from(key).toString('base64') },
  });
  return namespace;
}

async function applyAll(connection: Connection, namespace: string): Promise<void> {
  const options = { fieldManager: 'a-person' };
  await eachAtOnce(numbers(LANES), async (at) => {
    const lane: Desired<CaptureLaneObject> = {
      metadata: { namespace, name: `lane-${at}` },
      spec: {
        surface: SURFACES[at % SURFACES.length] ?? 'engine_news',
        driver: 'browser',
        profile: { go: { url: 'https://engine.example/' }, ask: [], finished: { quietMs: 100 }, read: { answer: 'p' } },
      },
    };
    await resourceClient(connection, captureLanes).apply(lane, options);
  });
  await eachAtOnce(numbers(WATCHES), async (at) => {
    const watch: Desired<WatchObject> = {
      metadata: { namespace, name: `watch-${at}` },
      spec: {
        query: `which bicycle is the best number ${at}`,
        surfaces: ['engine_news'],
        schedule: { every: '1d' },
        apiKeySecretRef: { name: 'key', key: 'key' },
      },
    };
    await resourceClient(connection, watches).apply(watch, options);
  });
}

type Timed = { controller: TestProcess; ms: number; writes: Writes; peakMegabytes: number };

/** Starts the controller and waits until it has nothing to do and every status is of the resource's generation. */
async function timeController(
  connection: Connection,
  processes: Awaited<ReturnType<typeof openTestProcesses>>,
  namespace: string,
): Promise<Timed> {
  const startedMs = performance.now();
  let endedMs = startedMs;
  let controller: TestProcess | undefined;
  const writes = await countWrites(connection, async () => {
    const started = await processes.start('controller');
    controller = started;
    await until(
      async () => {
        if (!(await isIdle(started))) return false;
        endedMs = performance.now();
        return (await findUnreconciled(connection, namespace)).length === 0;
      },
      { timeoutMs: PATIENCE_MS, what: 'all are reconciled', everyMs: 500 },
    );
    // Events are paced: they go on for some time after the statuses that they tell of.
    const isQuiet = async (): Promise<boolean> => sumOf(await countWrites(connection, () => pause(2_000))) === 0;
    if (process.env.BENCH_FAST === undefined)
      await until(isQuiet, { timeoutMs: PATIENCE_MS, what: 'the last event is written' });
  });
  if (controller === undefined) throw new Error('there is no controller');
  return { controller, ms: endedMs - startedMs, writes, peakMegabytes: await readPeak(controller.pid) };
}

async function isIdle({ url }: TestProcess): Promise<boolean> {
  const metrics = readMetrics(await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(5_000) })).text());
  const sum = (name: string): number => sumOf(metrics.get(name) ?? {});
  const done = sum('controller_runtime_reconcile_total');
  return done >= LANES + WATCHES && sum('workqueue_depth') + sum('controller_runtime_active_workers') === 0;
}

async function findUnreconciled(connection: Connection, namespace: string): Promise<readonly string[]> {
  const all = await readAll(connection, namespace);
  return [...all.lanes, ...all.watches].filter((one) => !isReconciled(one)).map(({ metadata }) => metadata.name);
}

/** A lane whose surface another one serves says so: that is its end, as Ready is of the others. */
function isReconciled({ metadata, status }: Reconciled): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const isSettled = ready?.status === 'True' || ready?.reason === 'SurfaceTaken';
  return isSettled && status?.observedGeneration === metadata.generation;
}

async function readAll(connection: Connection, namespace: string): Promise<Everything> {
  const read = async <T extends KubeObject>(kind: Kind<T>): Promise<readonly T[]> =>
    (await resourceClient(connection, kind).list({ namespace })).items;
  const all = { lanes: await read(captureLanes), watches: await read(watches) };
  if (all.lanes.length !== LANES || all.watches.length !== WATCHES) throw new Error('some resources are gone');
  return all;
}

async function timeBare(connection: Connection, { lanes, watches: made }: Everything, twin: string): Promise<number> {
  const options = { fieldManager: 'bench' };
  const startedMs = performance.now();
  await eachAtOnce(lanes, async ({ metadata: { name }, status }) => {
    if (status === undefined) throw new Error(`${name} has no status`);
    await resourceClient(connection, captureLanes).applyStatus(
      { metadata: { namespace: twin, name }, status },
      options,
    );
  });
  await eachAtOnce(made, async ({ metadata: { name }, status }) => {
    if (status === undefined) throw new Error(`${name} has no status`);
    await resourceClient(connection, watches).applyStatus({ metadata: { namespace: twin, name }, status }, options);
  });
  return performance.now() - startedMs;
}

async function readPeak(pid: number): Promise<number> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1000;
}

function report(what: string, { ms, writes, peakMegabytes }: Timed): void {
  say(`${what}: ${(ms / 1000).toFixed(1)} s, at most ${peakMegabytes.toFixed(0)} MB, ${JSON.stringify(writes)}`);
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at);
}

async function eachAtOnce<T>(all: readonly T[], action: (one: T) => Promise<void>): Promise<void> {
  const rest = all.values();
  const work = async (): Promise<void> => {
    for (const one of rest) await action(one);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}
