import type { Surface } from '../../contract/index.ts';
import type { LaneSpec } from '../../lanes/index.ts';
import { defineKind, type Condition, type KubeObject } from '../kube/index.ts';

/** An entry of a Secret or a ConfigMap of the same namespace. */
export type EntryRef = { readonly name: string; readonly key: string };

/** What the schema of the API server vouches for, defaults included; `parseLane` judges the rest. */
type CaptureLaneSpec = {
  readonly surface: Surface;
  readonly driver: string;
  readonly suspend: boolean;
  readonly replicas?: number;
  readonly scaling: LaneSpec['scaling'];
  readonly timeouts: LaneSpec['timeouts'];
  readonly profileRef?: EntryRef;
  readonly modelSecretRef?: EntryRef;
  readonly httpSecretRef?: EntryRef;
  readonly pod?: { readonly secretEnv?: readonly { readonly secretRef: EntryRef }[] };
  readonly egress?: readonly { readonly proxySecretRef: EntryRef }[];
  readonly [field: string]: unknown;
};

export type CaptureLaneStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly desiredReplicas?: number;
  readonly busyReplicas?: number;
  readonly waiting?: number;
  readonly running?: number;
  readonly selector?: string;
  readonly lastActiveAt?: string;
};

export type CaptureLaneObject = KubeObject & { readonly spec: CaptureLaneSpec; readonly status?: CaptureLaneStatus };

export const captureLanes = defineKind<CaptureLaneObject>('searchcapture.io/v1alpha1', 'CaptureLane', 'capturelanes');
