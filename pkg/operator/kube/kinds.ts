import type {
  EventsV1Event,
  V1ConfigMap,
  V1CustomResourceDefinition,
  V1Deployment,
  V1Lease,
  V1Namespace,
  V1NetworkPolicy,
  V1Pod,
  V1PodDisruptionBudget,
  V1Secret,
  V1Service,
  V1ServiceAccount,
} from '@kubernetes/client-node';
import type { Kind, KubeObject, Stored } from './object.ts';

export type ConfigMap = Stored<V1ConfigMap>;
export type CustomResourceDefinition = Stored<V1CustomResourceDefinition>;
export type Deployment = Stored<V1Deployment>;
export type EventObject = Stored<EventsV1Event>;
export type Lease = Stored<V1Lease>;
export type Namespace = Stored<V1Namespace>;
export type NetworkPolicy = Stored<V1NetworkPolicy>;
export type Pod = Stored<V1Pod>;
export type PodDisruptionBudget = Stored<V1PodDisruptionBudget>;
export type Secret = Stored<V1Secret>;
export type Service = Stored<V1Service>;
export type ServiceAccount = Stored<V1ServiceAccount>;

/** A namespaced kind. Custom kinds are made with it too: `defineKind<Widget>('example.com/v1', 'Widget', 'widgets')`. */
export function defineKind<T extends KubeObject>(apiVersion: string, kind: string, plural: string): Kind<T> {
  return { apiVersion, kind, plural, namespaced: true };
}

function clusterKind<T extends KubeObject>(apiVersion: string, kind: string, plural: string): Kind<T> {
  return { apiVersion, kind, plural, namespaced: false };
}

/** The built-in kinds that a controller of pods needs. */
export const core = {
  configMaps: defineKind<ConfigMap>('v1', 'ConfigMap', 'configmaps'),
  customResourceDefinitions: clusterKind<CustomResourceDefinition>(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
  ),
  deployments: defineKind<Deployment>('apps/v1', 'Deployment', 'deployments'),
  events: defineKind<EventObject>('events.k8s.io/v1', 'Event', 'events'),
  leases: defineKind<Lease>('coordination.k8s.io/v1', 'Lease', 'leases'),
  namespaces: clusterKind<Namespace>('v1', 'Namespace', 'namespaces'),
  networkPolicies: defineKind<NetworkPolicy>('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  podDisruptionBudgets: defineKind<PodDisruptionBudget>('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  pods: defineKind<Pod>('v1', 'Pod', 'pods'),
  secrets: defineKind<Secret>('v1', 'Secret', 'secrets'),
  serviceAccounts: defineKind<ServiceAccount>('v1', 'ServiceAccount', 'serviceaccounts'),
  services: defineKind<Service>('v1', 'Service', 'services'),
} as const;
