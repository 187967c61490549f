import { KubeError } from './errors.ts';
import { formatKey, type Key, type Kind, type KubeObject } from './object.ts';

/** `/apis/apps/v1/namespaces/shop/deployments`; without a namespace, those of all. */
export function collectionOf(kind: Kind<KubeObject>, namespace: string | undefined): string {
  const root = kind.apiVersion.includes('/') ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`;
  const within = namespace === undefined || namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${kind.namespaced ? within : ''}/${kind.plural}`;
}

/** The path of one object, or of its subresource. */
export function pathOf(kind: Kind<KubeObject>, key: Key, subresource: '' | 'status' | 'scale' = ''): string {
  const complete = key.name !== '' && (key.namespace !== '' || !kind.namespaced);
  if (!complete)
    throw new TypeError(`${kind.kind} ${formatKey(key)} needs a name${kind.namespaced ? ' and a namespace' : ''}`);
  const path = `${collectionOf(kind, key.namespace)}/${encodeURIComponent(key.name)}`;
  return subresource === '' ? path : `${path}/${subresource}`;
}

/** The object, if it is one of the kind. What is inside is the API server's promise: its schema has been enforced. */
export function readObject<T extends KubeObject>(kind: Kind<T>, value: unknown): T {
  if (isOfKind(kind, value)) return value;
  throw new KubeError(`the API server answered with something that is no ${kind.kind}`, {
    failure: 'other',
    status: 200,
  });
}

/** An item of a list, where built-in kinds leave out what the list says for all. */
export function readItem<T extends KubeObject>(kind: Kind<T>, item: object): T {
  return readObject(kind, { apiVersion: kind.apiVersion, kind: kind.kind, ...item });
}

function isOfKind<T extends KubeObject>(kind: Kind<T>, value: unknown): value is T {
  return (
    isRecord(value) &&
    value['kind'] === kind.kind &&
    value['apiVersion'] === kind.apiVersion &&
    isRecord(value['metadata']) &&
    typeof value['metadata']['name'] === 'string'
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
