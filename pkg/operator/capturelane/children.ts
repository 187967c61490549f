import { stringify } from 'yaml';
import {
  controllerReference,
  keyOf,
  type ConfigMap,
  type Desired,
  type PodDisruptionBudget,
  type ServiceAccount,
} from '../kube/index.ts';
import type { CaptureLaneObject } from '../resources/index.ts';
import { childKey, laneLabels, podSelector } from './names.ts';
import type { ResolvedLane } from './resolve.ts';

/** The lane's document, with its profile in place. */
export function buildConfigMap(resource: CaptureLaneObject, resolved: ResolvedLane): Desired<ConfigMap> {
  return { metadata: childMetadata(resource), data: { 'lane.yaml': stringify(resolved.document) } };
}

/** An identity that may do nothing, so that the pods don't have that of the namespace's default. */
export function buildServiceAccount(resource: CaptureLaneObject): Desired<ServiceAccount> {
  return { metadata: childMetadata(resource), automountServiceAccountToken: false };
}

/** A node is drained one pod at a time; each is given its time to finish what it captures. */
export function buildDisruptionBudget(resource: CaptureLaneObject): Desired<PodDisruptionBudget> {
  return {
    metadata: childMetadata(resource),
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: podSelector(keyOf(resource)) },
      // A pod that does not come up must not keep a node from being drained.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}

function childMetadata(resource: CaptureLaneObject): Desired<ConfigMap>['metadata'] {
  const key = keyOf(resource);
  return {
    ...childKey(key),
    labels: laneLabels(key, resource.spec.surface),
    ownerReferences: [controllerReference(resource)],
  };
}
