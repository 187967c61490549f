import type {
  Applier,
  ConfigMap,
  Deployment,
  Informer,
  Key,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
} from '../kube/index.ts';
import { keyOf } from '../kube/index.ts';
import type { CaptureLaneObject } from '../resources/index.ts';
import { buildConfigMap, buildDisruptionBudget, buildServiceAccount } from './children.ts';
import { buildDeployment } from './deployment.ts';
import { childKey } from './names.ts';
import { buildNetworkPolicy, serviceKeyOf } from './network-policy.ts';
import type { PodSettings } from './pod-settings.ts';
import type { ResolvedLane } from './resolve.ts';

/** The informers of what a lane owns. Each must keep what our field manager owns. */
export type ChildInformers = {
  configMaps: Informer<ConfigMap, string>;
  serviceAccounts: Informer<ServiceAccount, string>;
  deployments: Informer<Deployment, string>;
  disruptionBudgets: Informer<PodDisruptionBudget, string>;
  networkPolicies: Informer<NetworkPolicy, string>;
};

export type LaneChildren = {
  /** Makes all that the lane owns as it shall be, and resolves to its Deployment. Writes only what differs. */
  ensure(resource: CaptureLaneObject, resolved: ResolvedLane, signal: AbortSignal): Promise<Deployment>;
};

export type LaneChildrenDeps = {
  informers: ChildInformers;
  services: Informer<Service, string>;
  applier: Applier;
  settings: PodSettings;
};

export function createLaneChildren({ informers, services, applier, settings }: LaneChildrenDeps): LaneChildren {
  const findService = (namespace: string, host: string): Service | undefined => {
    const key = serviceKeyOf(namespace, host);
    return key === undefined ? undefined : services.get(key);
  };

  return {
    ensure: async (resource, resolved, signal) => {
      const key: Key = childKey(keyOf(resource));
      const options = { signal };
      const { configMaps, serviceAccounts, deployments, disruptionBudgets, networkPolicies } = informers;
      // The Deployment last: its pods need the others, and the policy before they can reach anything.
      await Promise.all([
        applier.ensure(configMaps.resources, configMaps.get(key), buildConfigMap(resource, resolved), options),
        applier.ensure(serviceAccounts.resources, serviceAccounts.get(key), buildServiceAccount(resource), options),
        applier.ensure(
          disruptionBudgets.resources,
          disruptionBudgets.get(key),
          buildDisruptionBudget(resource),
          options,
        ),
        ensurePolicy(),
      ]);
      const live = deployments.get(key);
      const desired = buildDeployment(resource, resolved, settings, live);
      return (await applier.ensure(deployments.resources, live, desired, options)).object;

      async function ensurePolicy(): Promise<void> {
        const policy = networkPolicies.get(key);
        if (settings.networkPolicy.enabled) {
          const wanted = buildNetworkPolicy(resource, resolved, settings, findService);
          await applier.ensure(networkPolicies.resources, policy, wanted, options);
        } else if (policy !== undefined) {
          await networkPolicies.resources.delete(key, { ...options, uid: policy.metadata.uid });
        }
      }
    },
  };
}
