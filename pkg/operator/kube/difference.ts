import type { KubeObject } from './object.ts';
import { isRecord } from './wire.ts';

export type Owner = { readonly fieldManager: string; readonly subresource: '' | 'status' };

/**
 * True when the live object has every value of `desired`, and its manager owns no field that `desired` lacks: an apply
 * would change nothing. The server adds defaults, and other managers add fields; neither counts.
 */
export function isShownBy(live: KubeObject, desired: object, { fieldManager, subresource }: Owner): boolean {
  const owned = live.metadata.managedFields?.find(
    (entry) =>
      entry.manager === fieldManager && entry.operation === 'Apply' && (entry.subresource ?? '') === subresource,
  );
  if (owned?.fieldsV1 === undefined || !isRecord(owned.fieldsV1)) return false;
  return hasAll(live, desired, owned.fieldsV1, '') && hasNoOther(desired, owned.fieldsV1);
}

/**
 * `fields` are the owned fields below this value in the form of `fieldsV1`: `f:name` is a field, `k:{…}` an item of a list
 * by its key, `v:…` an item of a set by its value. Without them a list is one value.
 */
function hasAll(live: unknown, desired: unknown, fields: unknown, name: string): boolean {
  if (Array.isArray(desired)) return Array.isArray(live) && hasAllItems(live, desired, fields, name);
  if (isRecord(desired)) {
    if (!isRecord(live)) return false;
    return Object.entries(desired).every(
      ([field, value]) =>
        value === undefined ||
        hasAll(live[field], value, below(fields, `f:${field}`), isQuantityMap(name) ? QUANTITY : field),
    );
  }
  return live === desired || (name === QUANTITY && isSameQuantity(live, desired));
}

function hasAllItems(live: readonly unknown[], desired: readonly unknown[], fields: unknown, name: string): boolean {
  const items = isRecord(fields) ? Object.keys(fields) : [];
  if (items.some((item) => item.startsWith('k:'))) {
    return desired.every((value) => {
      const item = items.find((candidate) => candidate.startsWith('k:') && hasKey(value, candidate));
      const found = item === undefined ? undefined : live.find((other) => hasKey(other, item));
      return found !== undefined && hasAll(found, value, below(fields, item ?? ''), name);
    });
  }
  if (items.some((item) => item.startsWith('v:'))) return desired.every((value) => live.includes(value));
  return live.length === desired.length && desired.every((value, at) => hasAll(live[at], value, undefined, name));
}

/** Every owned field is still desired. */
function hasNoOther(desired: unknown, fields: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(fields).every(([step, under]) => {
    if (step === '.') return true;
    const found = takeStep(desired, step);
    return found !== undefined && (!isRecord(under) || hasNoOther(found, under));
  });
}

function takeStep(desired: unknown, step: string): unknown {
  if (step.startsWith('f:')) return isRecord(desired) ? desired[step.slice(2)] : undefined;
  if (!Array.isArray(desired)) return undefined;
  if (step.startsWith('k:')) return desired.find((item: unknown) => hasKey(item, step));
  return desired.find((item: unknown) => JSON.stringify(item) === step.slice(2));
}

function below(fields: unknown, step: string): unknown {
  return isRecord(fields) ? fields[step] : undefined;
}

/** `k:{"containerPort":80,"protocol":"TCP"}`: a part of a key that the item leaves out is a default of the server's. */
function hasKey(item: unknown, step: string): boolean {
  const key: unknown = JSON.parse(step.slice(2));
  if (!isRecord(item) || !isRecord(key)) return false;
  const parts = Object.entries(key);
  return (
    parts.some(([field, value]) => item[field] === value) &&
    parts.every(([field, value]) => item[field] === undefined || item[field] === value)
  );
}

const QUANTITY = ' quantity';

/** Below these names the server rewrites values: `1000m` becomes `1`. */
function isQuantityMap(name: string): boolean {
  return name === 'limits' || name === 'requests' || name === 'hard' || name === 'capacity';
}

function isSameQuantity(live: unknown, desired: unknown): boolean {
  const [one, other] = [toNumber(live), toNumber(desired)];
  return one !== undefined && one === other;
}

const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** The number that a quantity like `1500m` or `2Gi` stands for. */
function toNumber(quantity: unknown): number | undefined {
  if (typeof quantity === 'number') return quantity;
  const [, digits = '', suffix = ''] = /^([+-]?[\d.]+)([a-zA-Z]*)$/.exec(String(quantity)) ?? [];
  if (digits === '') return undefined;
  if (DECIMAL.includes(suffix)) return Number(`${digits}e${(DECIMAL.indexOf(suffix) - 3) * 3}`);
  return BINARY.includes(suffix) ? Number(digits) * 1024 ** BINARY.indexOf(suffix) : undefined;
}
