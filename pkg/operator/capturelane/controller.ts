import type { Sql } from '../../postgres/index.ts';
import { forgetLostPods, withdrawOtherLanes } from '../../lanes/index.ts';
import { startLoop, type Clock } from '../../runtime/index.ts';
import type { Logger, Registry } from '../../telemetry/index.ts';
import {
  controllerFor,
  core,
  createApplier,
  createInformer,
  formatKey,
  isDeleting,
  keepManagedFieldsOf,
  keyOf,
  resourceClient,
  type ConfigMap,
  type Connection,
  type EventRecorder,
  type Informer,
  type KubeObject,
  type Kind,
  type Pod,
  type Secret,
  type Service,
  type Trigger,
} from '../kube/index.ts';
import {
  captureLanes,
  FIELD_MANAGER,
  LABELS,
  type CaptureLaneObject,
  type OperatorController,
  type OperatorTiming,
} from '../resources/index.ts';
import { createLaneChildren, type ChildInformers } from './ensure.ts';
import { createLooker } from './look.ts';
import { createLaneMetrics } from './metrics.ts';
import { childKey, formatSelector, MANAGED_BY } from './names.ts';
import type { PodSettings } from './pod-settings.ts';
import { createLaneReconciler, type LaneWorld } from './reconcile.ts';
import { createLaneReport } from './report.ts';

export type LaneControllerDeps = {
  /** One that writes only while we lead. */
  connection: Connection;
  /** The only namespace to look at; all of them when undefined. */
  namespace: string | undefined;
  secrets: Informer<Secret, string>;
  events: EventRecorder;
  sql: Sql;
  settings: PodSettings;
  /** A capture that is announced again, or retried, within so long counts as waiting. */
  soonSeconds: number;
  timing: OperatorTiming;
  clock: Clock;
  log: Logger;
  registry: Registry;
};

type LaneIndex = 'surface' | 'configMap' | 'secret';
type Lanes = Informer<CaptureLaneObject, LaneIndex>;

const SWEEP_MS = 600_000;
const SWEEP_TIMEOUT_MS = 30_000;

/** The controller of CaptureLane resources. */
export function createLaneController(deps: LaneControllerDeps): OperatorController {
  const { log, registry, clock, sql, secrets } = deps;
  const lanes: Lanes = createInformer({
    resources: resourceClient(deps.connection, captureLanes),
    ...scopeOf(deps.namespace),
    indexes: {
      surface: ({ spec }) => [spec.surface],
      configMap: (lane) => references(lane, configMapNames(lane)),
      secret: (lane) => references(lane, secretNames(lane)),
    },
    transform: keepManagedFieldsOf(FIELD_MANAGER),
    log,
    registry,
  });
  const pods: Informer<Pod, 'lane'> = createInformer({
    resources: resourceClient(deps.connection, core.pods),
    scope: { ...scopeOf(deps.namespace).scope, labelSelector: LABELS.lane },
    indexes: { lane: (pod) => [laneNameOf(pod)] },
    log,
    registry,
  });
  const configMaps = openInformer<ConfigMap>(deps, core.configMaps, undefined);
  const services = openInformer<Service>(deps, core.services, undefined);
  const children: ChildInformers = {
    configMaps,
    serviceAccounts: openInformer(deps, core.serviceAccounts, OURS),
    deployments: openInformer(deps, core.deployments, OURS),
    disruptionBudgets: openInformer(deps, core.podDisruptionBudgets, OURS),
    networkPolicies: openInformer(deps, core.networkPolicies, OURS),
  };
  const world: LaneWorld = {
    lane: (key) => lanes.get(key),
    lanesOf: (surface) => lanes.byIndex('surface', surface),
    deployment: (lane) => children.deployments.get(childKey(lane)),
    pods: (lane) => pods.byIndex('lane', formatKey(lane)),
    configMap: (key) => configMaps.get(key),
    secret: (key) => secrets.get(key),
  };
  const applier = createApplier(FIELD_MANAGER);
  const reconcile = createLaneReconciler({
    world,
    children: createLaneChildren({ informers: children, services, applier, settings: deps.settings }),
    look: createLooker({ sql, clock, soonSeconds: deps.soonSeconds }),
    report: createLaneReport({
      lanes: lanes.resources,
      applier,
      events: deps.events,
      metrics: createLaneMetrics(registry),
      clock,
    }),
    deployments: children.deployments.resources,
    pods: pods.resources,
    sql,
    clock,
    log,
  });

  return {
    informers: [lanes, pods, services, ...Object.values(children)],
    lead: () => {
      const controller = controllerFor({
        name: 'capture-lane',
        informer: lanes,
        reconcile,
        resyncMs: deps.timing.resyncMs,
        log,
        registry,
      })
        .owns(children.configMaps)
        .owns(children.serviceAccounts)
        .owns(children.deployments)
        .owns(children.disruptionBudgets)
        .owns(children.networkPolicies)
        .watches(pods, (pod) => [{ namespace: keyOf(pod).namespace, name: pod.metadata.labels?.[LABELS.lane] ?? '' }])
        .watches(configMaps, (map) => lanes.byIndex('configMap', formatKey(keyOf(map))).map(keyOf))
        .watches(secrets, (secret) => lanes.byIndex('secret', formatKey(keyOf(secret))).map(keyOf))
        .watches(services, (service) =>
          lanes
            .list()
            .filter((lane) => mentions(lane, service))
            .map(keyOf),
        )
        .triggeredBy(wakeRivals(lanes))
        .start();
      const sweep = startLoop(
        { name: 'forgetting lanes', idleMs: SWEEP_MS, turnTimeoutMs: SWEEP_TIMEOUT_MS, log },
        async () => {
          await lanes.synced(AbortSignal.timeout(SWEEP_TIMEOUT_MS));
          await withdrawOtherLanes(
            sql,
            lanes.list().map((lane) => formatKey(keyOf(lane))),
          );
          await forgetLostPods(sql);
          return 'idle';
        },
      );
      return {
        stop: async () => {
          await Promise.all([controller.stop(), sweep.stop()]);
        },
      };
    },
  };
}

const OURS = formatSelector({ [LABELS.managedBy]: MANAGED_BY });

function scopeOf(namespace: string | undefined): { scope?: { namespace: string } } {
  return namespace === undefined ? {} : { scope: { namespace } };
}

function openInformer<T extends KubeObject>(
  { connection, namespace, log, registry }: LaneControllerDeps,
  kind: Kind<T>,
  labelSelector: string | undefined,
): Informer<T> {
  return createInformer({
    resources: resourceClient(connection, kind),
    scope: { ...scopeOf(namespace).scope, ...(labelSelector === undefined ? {} : { labelSelector }) },
    transform: keepManagedFieldsOf(FIELD_MANAGER),
    log,
    registry,
  });
}

function laneNameOf({ metadata }: Pod): string {
  return formatKey({ namespace: metadata.namespace ?? '', name: metadata.labels?.[LABELS.lane] ?? '' });
}

function references({ metadata }: CaptureLaneObject, names: readonly string[]): string[] {
  return names.map((name) => formatKey({ namespace: metadata.namespace ?? '', name }));
}

function configMapNames({ spec }: CaptureLaneObject): string[] {
  return spec.profileRef === undefined ? [] : [spec.profileRef.name];
}

function secretNames({ spec }: CaptureLaneObject): string[] {
  const keys = [spec.modelSecretRef, spec.httpSecretRef].flatMap((ref) => (ref === undefined ? [] : [ref.name]));
  const proxies = (spec.egress ?? []).map(({ proxySecretRef }) => proxySecretRef.name);
  const variables = (spec.pod?.secretEnv ?? []).map(({ secretRef }) => secretRef.name);
  return [...new Set([...keys, ...proxies, ...variables])];
}

/** Whether the lane may mean this Service, whose pods its NetworkPolicy must then let it reach. */
function mentions({ spec }: CaptureLaneObject, { metadata }: Service): boolean {
  return JSON.stringify(spec).includes(metadata.name);
}

/** What a lane may do depends on the other lanes of its surface: they are woken when one comes, goes or gives way. */
function wakeRivals(lanes: Lanes): Trigger {
  return (enqueue) =>
    lanes.subscribe(({ before, after }) => {
      if (before !== undefined && after !== undefined && claimOf(before) === claimOf(after)) return;
      const surface = (after ?? before)?.spec.surface;
      if (surface !== undefined) for (const lane of lanes.byIndex('surface', surface)) enqueue(keyOf(lane));
    });
}

function claimOf(lane: CaptureLaneObject): string {
  return `${String(lane.spec.suspend)} ${String(isDeleting(lane))}`;
}
