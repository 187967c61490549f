import type { Cluster } from './cluster.ts';

const KINDS = [
  ...['deployments', 'statefulsets', 'replicasets', 'pods', 'jobs', 'services', 'configmaps', 'secrets'],
  ...['serviceaccounts', 'roles', 'rolebindings', 'networkpolicies', 'poddisruptionbudgets', 'leases'],
  ...['horizontalpodautoscalers', 'ingresses', 'persistentvolumeclaims'],
];
/** What Kubernetes itself puts into every namespace. */
const OWN = /^(configmap\/kube-root-ca\.crt|serviceaccount\/default)$/;

/** Everything in the namespace, as `kind/name`. */
export async function listLeft(cluster: Cluster): Promise<string[]> {
  const text = await cluster.kubectl(['get', KINDS.join(','), '-o', 'name']);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/\.[^/]+\//, '/'))
    .filter((name) => !OWN.test(name))
    .toSorted();
}

/** Definitions, roles and bindings of ours that belong to no namespace. */
export async function listLeftClusterWide(cluster: Cluster, namespace: string): Promise<string[]> {
  const text = await cluster.kubectl([
    'get',
    'customresourcedefinitions,clusterroles,clusterrolebindings',
    '-o',
    'name',
  ]);
  return text.split('\n').filter((line) => line.includes('searchcapture.io') || line.includes(`/${namespace}-`));
}
