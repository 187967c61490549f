import { findCaller, type Plans } from '../../accounts/index.ts';
import type { Database } from '../../postgres/index.ts';
import { gather, type Clock } from '../../runtime/index.ts';
import type { Logger, Registry } from '../../telemetry/index.ts';
import { createWatchMaker, readManagedWatches } from '../../watches/index.ts';
import type { Guard } from '../../webhooks/index.ts';
import {
  controllerFor,
  createApplier,
  createInformer,
  formatKey,
  keepManagedFieldsOf,
  keyOf,
  resourceClient,
  type Connection,
  type EventRecorder,
  type Informer,
  type Secret,
} from '../kube/index.ts';
import {
  FIELD_MANAGER,
  watches,
  type OperatorController,
  type OperatorTiming,
  type WatchObject,
} from '../resources/index.ts';
import { createWatchReconciler } from './reconcile.ts';
import { createWatchSignals } from './signals.ts';

export type WatchControllerDeps = {
  /** One that writes only while we lead. */
  connection: Connection;
  /** The only namespace to look at; all of them when undefined. */
  namespace: string | undefined;
  secrets: Informer<Secret, string>;
  events: EventRecorder;
  db: Database;
  guard: Guard;
  plans: Plans;
  pepper: string;
  timing: OperatorTiming;
  clock: Clock;
  log: Logger;
  registry: Registry;
};

/** A pass mostly waits for the API server; what passes ask of Postgres at the same time is asked as one. */
const CONCURRENCY = 128;
const GATHER = { restMs: 50 };

/** The controller of Watch resources. */
export function createWatchController(deps: WatchControllerDeps): OperatorController {
  const { log, registry, secrets } = deps;
  const resources = resourceClient(deps.connection, watches);
  const informer: Informer<WatchObject, 'secret'> = createInformer({
    resources,
    ...(deps.namespace === undefined ? {} : { scope: { namespace: deps.namespace } }),
    indexes: {
      secret: ({ metadata, spec }) => [
        formatKey({ namespace: metadata.namespace ?? '', name: spec.apiKeySecretRef.name }),
      ],
    },
    transform: keepManagedFieldsOf(FIELD_MANAGER),
    log,
    registry,
  });
  const signals = createWatchSignals({
    sql: deps.db.system,
    listAll: () => informer.list().map(keyOf),
    databaseGraceMs: deps.timing.databaseGraceMs,
    clock: deps.clock,
    log,
  });
  const reconcile = createWatchReconciler({
    ...deps,
    watch: (key) => informer.get(key),
    shows: (resource, signal) => informer.shows(resource, signal),
    watches: resources,
    secret: (key) => secrets.get(key),
    readWatches: gather(async (asked: readonly string[]) => {
      const found = Map.groupBy(await readManagedWatches(deps.db.system, asked), ({ managedBy }) => managedBy);
      return asked.map((managedBy) => found.get(managedBy) ?? []);
    }, GATHER),
    // Thousands of resources act with a few keys.
    findCaller: gather(async (asked: readonly string[]) => {
      const ask = async (key: string) => [key, await findCaller(deps.db.system, key, deps.pepper)] as const;
      const found = new Map(await Promise.all([...new Set(asked)].map(ask)));
      return asked.map((key) => found.get(key) ?? null);
    }, GATHER),
    createWatch: createWatchMaker(deps),
    applier: createApplier(FIELD_MANAGER),
    databaseProblem: () => signals.databaseProblem(),
    rememberKey: (resource, keyId) => signals.rememberKey(resource, keyId),
  });
  return {
    informers: [informer],
    lead: () =>
      controllerFor({
        name: 'watch',
        informer,
        reconcile,
        concurrency: CONCURRENCY,
        resyncMs: deps.timing.resyncMs,
        log,
        registry,
      })
        .watches(secrets, (secret) => informer.byIndex('secret', formatKey(keyOf(secret))).map(keyOf))
        .triggeredBy((enqueue) => signals.trigger(enqueue))
        .start(),
  };
}
