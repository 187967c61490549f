import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import { parseLane, type CaptureLane } from '../../lanes/index.ts';
import { formatKey, keyOf, type ConfigMap, type Key, type Secret } from '../kube/index.ts';
import type { CaptureLaneObject, EntryRef } from '../resources/index.ts';

/** Why a lane can't be made, in words that say what to do. */
export type LaneProblem = {
  reason: 'InvalidSpec' | 'InvalidProfile' | 'ProfileMissing' | 'SecretMissing';
  message: string;
};

export type ResolvedLane = {
  lane: CaptureLane;
  /** The document that its pods read: with its profile in place, without what only the controller needs. */
  document: object;
  /** Secrets by name, and which of their entries the pods need as files. */
  files: ReadonlyMap<string, readonly string[]>;
  /** What the pods get in their environment, from Secrets. */
  variables: readonly { variable: string; from: EntryRef }[];
  /** Where proxies stand, from their Secrets. */
  proxyUrls: readonly string[];
  /** Changes when, and only when, the pods must be replaced. */
  hash: string;
};

export type Lookups = {
  configMap(key: Key): ConfigMap | undefined;
  secret(key: Key): Secret | undefined;
};

const DEFAULT_KEY_VARIABLE = 'MODEL_API_KEY';

/** Follows every reference of a lane and judges its whole document, as its pods will. */
export function resolveLane(resource: CaptureLaneObject, lookups: Lookups): ResolvedLane | LaneProblem {
  const spec = placeProfile(resource, lookups);
  if ('reason' in spec) return spec;
  const lane = judge(resource, spec);
  if ('reason' in lane) return lane;
  const references = referencesOf(lane);
  const values = new Map<string, string>();
  for (const ref of [...references.variables.map(({ from }) => from), ...references.files]) {
    const value = entryOf(lookups.secret({ namespace: keyOf(resource).namespace, name: ref.name }), ref.key);
    if (value === undefined) return missingSecret(resource, ref);
    values.set(`${ref.name}/${ref.key}`, value);
  }
  const document = documentOf(lane);
  return {
    lane,
    document,
    files: groupByName(references.files),
    variables: references.variables,
    proxyUrls: references.files.map(({ name, key }) => values.get(`${name}/${key}`) ?? ''),
    hash: hashOf([document, lane.spec.pod, [...values]]),
  };
}

/** The spec with its profile in place of a reference to it. */
function placeProfile(
  resource: CaptureLaneObject,
  lookups: Lookups,
): { profileFrom: string; spec: object } | LaneProblem {
  const { profileRef, ...spec } = resource.spec;
  if (profileRef === undefined) return { profileFrom: 'spec.profile', spec };
  const key = { namespace: keyOf(resource).namespace, name: profileRef.name };
  const found = lookups.configMap(key);
  const place = `ConfigMap ${formatKey(key)}`;
  if (found === undefined) {
    return { reason: 'ProfileMissing', message: `${place} does not exist. Create it, or correct spec.profileRef.` };
  }
  const text = found.data?.[profileRef.key];
  if (text === undefined) {
    const keys = Object.keys(found.data ?? {}).join(', ');
    return {
      reason: 'ProfileMissing',
      message: `${place} has no entry "${profileRef.key}" (it has: ${keys === '' ? 'none' : keys}). Add it, or correct spec.profileRef.key.`,
    };
  }
  try {
    const profile: unknown = parse(text);
    return { profileFrom: `${place}, entry ${profileRef.key}`, spec: { ...spec, profile } };
  } catch (error) {
    return {
      reason: 'InvalidProfile',
      message: `${place}, entry ${profileRef.key} is not YAML: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

function judge(
  resource: CaptureLaneObject,
  { profileFrom, spec }: { profileFrom: string; spec: object },
): CaptureLane | LaneProblem {
  const { apiVersion, kind, metadata } = resource;
  try {
    return parseLane({ apiVersion, kind, metadata: { name: metadata.name }, spec: withKeyVariable(spec) }, profileFrom);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const ofProfile = message.split('\n').every((line) => line.includes(': spec.profile'));
    return {
      reason: ofProfile ? 'InvalidProfile' : 'InvalidSpec',
      message: message.replaceAll('spec.profile: spec.', 'spec.'),
    };
  }
}

/** With a Secret, the variable in between is nobody's concern. */
function withKeyVariable(spec: object): object {
  if (!('modelSecretRef' in spec) || !('model' in spec)) return spec;
  const { model } = spec;
  if (typeof model !== 'object' || model === null || 'apiKeyEnv' in model) return spec;
  return { ...spec, model: { ...model, apiKeyEnv: DEFAULT_KEY_VARIABLE } };
}

type References = { files: EntryRef[]; variables: { variable: string; from: EntryRef }[] };

function referencesOf({ spec }: CaptureLane): References {
  const files = spec.egress.map(({ proxySecretRef }) => proxySecretRef);
  const variables = spec.pod.secretEnv.map(({ variable, secretRef }) => ({ variable, from: secretRef }));
  const sent = variableSent(spec);
  const from = spec.driver === 'model' ? spec.modelSecretRef : spec.httpSecretRef;
  if (sent !== undefined && from !== undefined) variables.push({ variable: sent, from });
  return { files, variables };
}

/** The variable in which the driver looks for the key of its API. */
function variableSent(spec: CaptureLane['spec']): string | undefined {
  if (spec.driver === 'model') return spec.model.apiKeyEnv;
  return spec.driver === 'http' ? spec.profile.go.secret?.env : undefined;
}

function entryOf(secret: Secret | undefined, key: string): string | undefined {
  const encoded = secret?.data?.[key];
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
}

function missingSecret(resource: CaptureLaneObject, { name, key }: EntryRef): LaneProblem {
  const place = formatKey({ namespace: keyOf(resource).namespace, name });
  return {
    reason: 'SecretMissing',
    message: `Secret ${place} with an entry "${key}" does not exist. Create it, or correct the reference in the spec.`,
  };
}

/** What a pod reads: nothing of scaling or placement, so that changing those replaces no pod. */
function documentOf({ apiVersion, kind, metadata, spec }: CaptureLane): object {
  const {
    scaling: _scaling,
    pod: _pod,
    suspend: _suspend,
    replicas: _replicas,
    modelSecretRef: _model,
    httpSecretRef: _http,
    ...rest
  } = spec;
  return { apiVersion, kind, metadata, spec: rest };
}

function groupByName(refs: readonly EntryRef[]): ReadonlyMap<string, readonly string[]> {
  const grouped = Map.groupBy(refs, ({ name }) => name);
  return new Map([...grouped].map(([name, group]) => [name, [...new Set(group.map(({ key }) => key))].toSorted()]));
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
