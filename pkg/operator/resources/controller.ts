import type { Informer, KubeObject } from '../kube/index.ts';

/** A controller with its informers: those run on every replica, so that a new leader starts at once; the work does not. */
export type OperatorController = {
  informers: readonly Informer<KubeObject, string>[];
  /** Starts to work. Whoever calls it stops it. */
  lead(): { stop(): Promise<void> };
};

export type OperatorTiming = {
  /** Every resource is looked at again after about so long: what others change of it outside the cluster is put right. */
  resyncMs: number;
  /** Postgres may be away for so long before the status of each Watch says so. */
  databaseGraceMs: number;
};
