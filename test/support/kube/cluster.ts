import { describe } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { connect, loadKubeConfig, type Connection } from '../../../pkg/operator/kube/index.ts';
import { readVariable } from '../environment.ts';
import type { KubeServer } from './server.ts';

export { createNamespace, installDefinition, installWidgets, testLog, widgets, type Widget } from './objects.ts';

/** Like `describe`, but skipped where there is no API server to test against; the set-up has said why. */
export const describeOnKube = process.env['TEST_KUBE_PROGRAMS'] === undefined ? describe.skip : describe;

/** As the administrator of the API server that all tests share, or of another. Close it. */
export function connectToKube(kubeConfigFile = readVariable('TEST_KUBECONFIG')): Connection {
  return connect({ kubeConfig: loadKubeConfig(kubeConfigFile), userAgent: 'test' });
}

/** As the administrator of a server, through a proxy before it. */
export function connectVia(server: KubeServer, port: number): Connection {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(server.kubeConfigVia(port));
  return connect({ kubeConfig, userAgent: 'test' });
}
