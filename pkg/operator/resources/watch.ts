import type { Region, Surface } from '../../contract/index.ts';
import { defineKind, type Condition, type KubeObject } from '../kube/index.ts';
import type { EntryRef } from './capture-lane.ts';

export type WatchSpec = {
  readonly name?: string;
  readonly query: string;
  readonly surfaces: readonly Surface[];
  readonly regions?: readonly Region[];
  readonly extract?: { readonly targets?: readonly string[] };
  readonly webhookUrl?: string;
  readonly schedule: { readonly every?: string; readonly intervalMinutes?: number };
  readonly suspend?: boolean;
  readonly apiKeySecretRef: EntryRef;
};

export type WatchStatusFields = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly id?: string;
  readonly accountId?: string;
  readonly schedule?: string;
  readonly nextRunAt?: string;
  readonly lastRunAt?: string;
  readonly lastJobId?: string;
  readonly lastOutcome?: string;
  readonly lastDetail?: string;
};

export type WatchObject = KubeObject & { readonly spec: WatchSpec; readonly status?: WatchStatusFields };

export const watches = defineKind<WatchObject>('searchcapture.io/v1alpha1', 'Watch', 'watches');
