import {
  core,
  resourceClient,
  type Connection,
  type Deployment,
  type Desired,
  type Pod,
} from '../../../pkg/operator/kube/index.ts';

/**
 * What the cluster's own controllers and its kubelets would do, as the API server alone starts no pod: makes the pods
 * that a Deployment asks for, and says of them what the test wants.
 */
export function createPods(connection: Connection) {
  const pods = resourceClient(connection, core.pods);
  const deployments = resourceClient(connection, core.deployments);

  return {
    /** A pod of the Deployment, ready or not. */
    async add(deployment: Deployment, name: string, status: Desired<Pod>['status'] = READY): Promise<void> {
      const { metadata, spec } = deployment;
      const namespace = metadata.namespace ?? '';
      const template = spec?.template;
      await pods.create({
        metadata: { name, namespace, labels: template?.metadata?.labels ?? {} },
        spec: { ...template?.spec, serviceAccountName: 'default' },
      });
      await this.say(namespace, name, status);
    },
    async say(namespace: string, name: string, status: Desired<Pod>['status']): Promise<void> {
      await pods.patch({ namespace, name }, { type: 'merge', body: { status } }, { subresource: 'status' });
    },
    async remove(namespace: string, name: string): Promise<void> {
      // Nobody runs it, so nobody would end it.
      await connection.call({
        method: 'DELETE',
        path: `/api/v1/namespaces/${namespace}/pods/${name}`,
        body: { gracePeriodSeconds: 0 },
      });
    },
    /** What the Deployment's own controller would say. */
    async rolledOut(namespace: string, name: string, replicas: number): Promise<void> {
      const deployment = await deployments.get({ namespace, name });
      const status = {
        observedGeneration: deployment.metadata.generation ?? 0,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      };
      await deployments.patch({ namespace, name }, { type: 'merge', body: { status } }, { subresource: 'status' });
    },
  };
}

const READY: Desired<Pod>['status'] = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True' }],
};
