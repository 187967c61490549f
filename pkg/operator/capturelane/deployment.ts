import { controllerReference, keyOf, type Deployment, type Desired } from '../kube/index.ts';
import { FIELD_MANAGER, type CaptureLaneObject } from '../resources/index.ts';
import { childKey, laneLabels, podSelector } from './names.ts';
import type { PodSettings } from './pod-settings.ts';
import type { ResolvedLane } from './resolve.ts';

export const PROBE_PORT = 8081;
const CONFIG_HASH = 'searchcapture.io/config-hash';

/** Beyond a capture's own deadline: for settling it, and for what stops after it. */
const GRACE_MARGIN_SECONDS = 30;
const LANES_DIR = '/etc/search-capture/lanes';
const SECRETS_DIR = '/var/run/search-capture/secrets';

/** Enough for one browser with two pages, or for a process that only calls an endpoint. */
const DEFAULT_RESOURCES = {
  browser: { requests: { cpu: '250m', memory: '768Mi' }, limits: { memory: '2Gi' } },
  model: { requests: { cpu: '50m', memory: '192Mi' }, limits: { memory: '512Mi' } },
} as const;

/** The pods of a lane. Says nothing of how many: that is the scaler's, except at the very first. */
export function buildDeployment(
  resource: CaptureLaneObject,
  resolved: ResolvedLane,
  settings: PodSettings,
  live: Deployment | undefined,
): Desired<Deployment> {
  const key = keyOf(resource);
  const { spec } = resolved.lane;
  const labels = laneLabels(key, spec.surface);
  return {
    metadata: { ...childKey(key), labels, ownerReferences: [controllerReference(resource)] },
    spec: {
      ...firstReplicas(live),
      selector: { matchLabels: podSelector(key) },
      // A pod that goes first finishes its captures: room for its successor beside it, and no haste.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      revisionHistoryLimit: 2,
      progressDeadlineSeconds: 600,
      template: {
        metadata: {
          labels: { ...spec.pod.labels, ...labels },
          annotations: { ...spec.pod.annotations, [CONFIG_HASH]: resolved.hash },
        },
        spec: {
          serviceAccountName: childKey(key).name,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: spec.timeouts.captureSeconds + GRACE_MARGIN_SECONDS,
          securityContext: { runAsNonRoot: true, seccompProfile: settings.seccompProfile },
          ...(settings.imagePullSecrets.length === 0 ? {} : { imagePullSecrets: settings.imagePullSecrets }),
          ...placementOf(resolved),
          containers: [buildContainer(resolved, settings)],
          volumes: buildVolumes(key.name, resolved),
        },
      },
    },
  };
}

/**
 * A Deployment that says nothing starts with one pod, and a field that its last owner gives up returns to that too. So
 * the first apply says none, and says so until the scaler has written a number of its own.
 */
function firstReplicas(live: Deployment | undefined): { replicas?: number } {
  return live === undefined || ownsReplicas(live) ? { replicas: 0 } : {};
}

function ownsReplicas(live: Deployment): boolean {
  const ours = live.metadata.managedFields?.find(
    ({ manager, operation, subresource }) =>
      manager === FIELD_MANAGER && operation === 'Apply' && (subresource ?? '') === '',
  );
  const spec = entry(ours?.fieldsV1, 'f:spec');
  return entry(spec, 'f:replicas') !== undefined;
}

function entry(fields: unknown, name: string): unknown {
  return typeof fields === 'object' && fields !== null && name in fields ? Reflect.get(fields, name) : undefined;
}

function placementOf({ lane }: ResolvedLane): object {
  const { nodeSelector, tolerations, affinity, priorityClassName } = lane.spec.pod;
  return {
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(affinity === undefined ? {} : { affinity }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
  };
}

type Container = NonNullable<
  NonNullable<NonNullable<NonNullable<Desired<Deployment>['spec']>['template']>['spec']>['containers']
>[number];

function buildContainer(resolved: ResolvedLane, settings: PodSettings): Container {
  const probe = (path: string, more: object) => ({ httpGet: { path, port: 'probes' }, ...more });
  return {
    name: 'lane',
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    envFrom: settings.envFrom,
    env: buildEnvironment(resolved, settings),
    ports: [{ name: 'probes', containerPort: PROBE_PORT, protocol: 'TCP' }],
    // The browser is started once before the probes are served.
    startupProbe: probe('/livez', { periodSeconds: 2, failureThreshold: 60, timeoutSeconds: 3 }),
    livenessProbe: probe('/livez', { periodSeconds: 10, failureThreshold: 6, timeoutSeconds: 5 }),
    readinessProbe: probe('/readyz', { periodSeconds: 5, failureThreshold: 3, timeoutSeconds: 3 }),
    resources: chooseResources(resolved),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    },
    // The last lines of the log become the reason in the lane's conditions.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'lane', mountPath: LANES_DIR, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'shm', mountPath: '/dev/shm' },
      ...[...resolved.files.keys()].map((name, index) => ({
        name: `secret-${index}`,
        mountPath: `${SECRETS_DIR}/${name}`,
        readOnly: true,
      })),
    ],
  };
}

function chooseResources({ lane }: ResolvedLane): object {
  const { requests, limits } = lane.spec.pod.resources;
  const defaults = DEFAULT_RESOURCES[lane.spec.driver === 'browser' ? 'browser' : 'model'];
  return {
    requests: Object.keys(requests).length === 0 ? defaults.requests : requests,
    limits: Object.keys(limits).length === 0 ? defaults.limits : limits,
  };
}

function buildEnvironment({ lane, variables }: ResolvedLane, settings: PodSettings): object[] {
  const given = (name: string, value: string) => ({ name, value });
  const field = (name: string, fieldPath: string) => ({
    name,
    valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } },
  });
  const ours = [
    given('LANES_DIR', LANES_DIR),
    given('LANES_PUBLISHED_BY', 'controller'),
    given('SECRETS_DIR', SECRETS_DIR),
    given('HOST', '0.0.0.0'),
    given('PROBE_PORT', String(PROBE_PORT)),
    // A pod that is replaced lets its captures end, however long they may take.
    given('SHUTDOWN_GRACE_SECONDS', String(Math.min(900, lane.spec.timeouts.captureSeconds + 5))),
    given('HOME', '/tmp'),
    field('POD_NAME', 'metadata.name'),
    field('POD_NAMESPACE', 'metadata.namespace'),
    ...variables.map(({ variable, from }) => ({ name: variable, valueFrom: { secretKeyRef: from } })),
  ];
  const names = new Set(ours.map(({ name }) => name));
  return [...settings.env.filter((entry) => !('name' in entry && names.has(String(entry.name)))), ...ours];
}

function buildVolumes(laneName: string, { files }: ResolvedLane): object[] {
  return [
    { name: 'lane', configMap: { name: childKey({ namespace: '', name: laneName }).name } },
    { name: 'tmp', emptyDir: { sizeLimit: '2Gi' } },
    // Chromium shares memory between its processes; the container's own /dev/shm of 64 MiB makes pages crash.
    { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '512Mi' } },
    ...[...files].map(([secretName, keys], index) => ({
      name: `secret-${index}`,
      secret: { secretName, items: keys.map((key) => ({ key, path: key })) },
    })),
  ];
}
