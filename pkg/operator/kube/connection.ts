import type { KubeConfig } from '@kubernetes/client-node';
import type { Registry } from 'prom-client';

export type ConnectionOptions = {
  kubeConfig: KubeConfig;
  /** Shows in the API server's audit log: `search-capture-controller/0.1.0`. */
  userAgent: string;
  /** Calls are counted there. */
  registry?: Registry;
};

/** The one way to the API server: its connections, credentials, deadlines and retries. */
export type Connection = {
  /** The namespace of the kubeconfig's context, or of the pod we run in. */
  readonly namespace: string;
  /** Like this connection, but each write first asks `mayWrite`; where that is false it rejects with `notLeading`. */
  guardedBy(mayWrite: () => boolean): Connection;
  close(): Promise<void>;
};

/** The kubeconfig of `path`; else of KUBECONFIG, the pod's ServiceAccount, or ~/.kube/config. */
export declare function loadKubeConfig(path?: string): KubeConfig;

/** Connects lazily: nothing is sent before the first call. Close it last. */
export declare function connect(options: ConnectionOptions): Connection;
