import type { Plans } from '../accounts/index.ts';
import type { Database } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';
import type { Logger, Registry } from '../telemetry/index.ts';
import type { Guard } from '../webhooks/index.ts';
import { createLaneController, type PodSettings } from './capturelane/index.ts';
import {
  aborted,
  connect,
  core,
  createEventRecorder,
  createInformer,
  createLeader,
  loadKubeConfig,
  resourceClient,
  type Connection,
  type EventRecorder,
  type Informer,
  type KubeObject,
  type Leader,
  type Secret,
} from './kube/index.ts';
import type { OperatorController, OperatorTiming } from './resources/index.ts';
import { createWatchController } from './watch/index.ts';

export type OperatorOptions = {
  /** Where the kubeconfig stands; found in the usual places when undefined. */
  kubeConfigPath: string | undefined;
  /** The only namespace to look at; all of them when undefined. */
  namespace: string | undefined;
  /** Stands in our own namespace where none is given. */
  lease: { name: string; namespace: string };
  /** The pod, as events name it. */
  instance: string;
  /** Unlike any other's, also of an earlier process of the same pod. */
  identity: string;
  db: Database;
  guard: Guard;
  plans: Plans;
  /** The pepper of the hashes of API keys. */
  pepper: string;
  podSettings: PodSettings;
  soonSeconds: number;
  /** 10 min and 1 min unless told. */
  timing?: Partial<OperatorTiming>;
  clock: Clock;
  log: Logger;
  registry: Registry;
  /** Called when another replica leads: the process should end. */
  onLost: () => void;
};

export type Operator = {
  /** True once every cache is full. */
  isSynced(): boolean;
  /** Ends the work, gives the lease back, closes every connection. */
  stop(): Promise<void>;
};

const TIMING: OperatorTiming = { resyncMs: 600_000, databaseGraceMs: 60_000 };
const USER_AGENT = 'search-capture-controller';

/** Both controllers, on one connection, under one lease. */
export function startOperator(options: OperatorOptions): Operator {
  const { log, registry, lease } = options;
  const connection = connect({ kubeConfig: loadKubeConfig(options.kubeConfigPath), userAgent: USER_AGENT, registry });
  const leader = createLeader({
    connection,
    lease: { name: lease.name, namespace: lease.namespace === '' ? connection.namespace : lease.namespace },
    identity: options.identity,
    log,
    registry,
  });
  const guarded = connection.guardedBy(() => leader.isLeading());
  // Events tell of what was done while we led, and may be written a moment later.
  const recorders = [
    recorderOf(options, connection, 'capture-lane'),
    recorderOf(options, connection, 'watch'),
  ] as const;
  const secrets: Informer<Secret> = createInformer({
    resources: resourceClient(guarded, core.secrets),
    ...(options.namespace === undefined ? {} : { scope: { namespace: options.namespace } }),
    log,
    registry,
  });
  const shared = {
    ...options,
    timing: { ...TIMING, ...options.timing },
    connection: guarded,
    secrets,
    sql: options.db.system,
    settings: options.podSettings,
  };
  const controllers = [
    createLaneController({ ...shared, events: recorders[0] }),
    createWatchController({ ...shared, events: recorders[1] }),
  ];
  const informers = [secrets, ...controllers.flatMap((controller) => controller.informers)];
  for (const informer of informers) informer.start();
  const stopping = new AbortController();
  const led = leadUntil(leader, controllers, stopping.signal, options.onLost, log);

  return {
    isSynced: () => informers.every((informer) => informer.hasSynced()),
    stop: async () => {
      stopping.abort();
      await led;
      await stopAll(informers, recorders);
      await connection.close();
    },
  };
}

function recorderOf(options: OperatorOptions, connection: Connection, name: string): EventRecorder {
  return createEventRecorder({
    connection,
    reportingController: `searchcapture.io/${name}`,
    reportingInstance: options.instance,
    log: options.log,
    registry: options.registry,
  });
}

async function leadUntil(
  leader: Leader,
  controllers: readonly OperatorController[],
  signal: AbortSignal,
  onLost: () => void,
  log: Logger,
): Promise<void> {
  try {
    const ending = await leader.run(signal, async (term) => {
      const working = controllers.map((controller) => controller.lead());
      await aborted(term);
      await Promise.all(working.map((controller) => controller.stop()));
    });
    if (ending === 'lost') onLost();
  } catch (error) {
    log.error({ err: error }, 'Leading failed');
    onLost();
  }
}

async function stopAll(
  informers: readonly Informer<KubeObject, string>[],
  recorders: readonly EventRecorder[],
): Promise<void> {
  await Promise.all([
    ...informers.map((informer) => informer.stop()),
    ...recorders.map((recorder) => recorder.stop(2_000)),
  ]);
}
