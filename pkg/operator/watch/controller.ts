import type { Plans } from '../../accounts/index.ts';
import type { Database } from '../../postgres/index.ts';
import type { Clock } from '../../runtime/index.ts';
import type { Logger, Registry } from '../../telemetry/index.ts';
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
import { FIELD_MANAGER, watches, type OperatorController, type WatchObject } from '../resources/index.ts';
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
  clock: Clock;
  log: Logger;
  registry: Registry;
};

const RESYNC_MS = 600_000;
/** A pass mostly waits for Postgres and the API server. */
const CONCURRENCY = 8;

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
  const signals = createWatchSignals({ sql: deps.db.system, log });
  const reconcile = createWatchReconciler({
    ...deps,
    watch: (key) => informer.get(key),
    watches: resources,
    secret: (key) => secrets.get(key),
    applier: createApplier(FIELD_MANAGER),
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
        resyncMs: RESYNC_MS,
        log,
        registry,
      })
        .watches(secrets, (secret) => informer.byIndex('secret', formatKey(keyOf(secret))).map(keyOf))
        .triggeredBy((enqueue) => signals.trigger(enqueue))
        .start(),
  };
}
