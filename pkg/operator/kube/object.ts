/** Name of an object in its namespace; the namespace is '' for objects of the whole cluster. */
export type Key = { readonly namespace: string; readonly name: string };

/** What the API server keeps for every object. Times are RFC 3339 text, as they come over the wire. */
export type Metadata = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedFields[];
};

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
};

/** Which fields one field manager owns. */
export type ManagedFields = {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: object;
};

export type KubeObject = { readonly apiVersion: string; readonly kind: string; readonly metadata: Metadata };

/**
 * A kind of object: how the API server calls it, and, in the type only, what its objects look like. Kinds are values
 * so that one client, informer and controller serve all of them.
 */
export type Kind<T extends KubeObject> = {
  readonly apiVersion: string;
  readonly kind: string;
  /** Lower case, as in the URL: `deployments`. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: carries the type. */
  readonly object?: T;
};

/** What is sent over the wire for a type of the generated client: it declares `Date` where JSON has text, and renames. */
type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Wire<E>[]
    : T extends object
      ? { readonly [K in keyof T as WireName<K>]: Wire<T[K]> }
      : T;

/** `_from` is `from`, `x_kubernetes_list_type` is `x-kubernetes-list-type`. */
type WireName<K> = K extends `_${infer Name}` ? Name : K extends `x_${string}` ? Dashed<K> : K;
type Dashed<K extends string> = K extends `${infer Head}_${infer Tail}` ? `${Head}-${Dashed<Tail>}` : K;

/** An object of a kind of the generated client, as the API server returns it. */
export type Stored<T> = Wire<Omit<T, 'apiVersion' | 'kind' | 'metadata'>> & KubeObject;

type Partly<T> = T extends readonly (infer E)[]
  ? readonly Partly<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Partly<T[K]> }
    : T;

/** What a writer wants to be so: only the fields that it has an opinion on. `apiVersion` and `kind` are added. */
export type Desired<T extends KubeObject> = Partly<Omit<T, 'apiVersion' | 'kind' | 'metadata'>> & {
  readonly metadata: Pick<Metadata, 'name'> &
    Partial<Pick<Metadata, 'namespace' | 'labels' | 'annotations' | 'finalizers' | 'ownerReferences'>>;
};

export function keyOf(object: { metadata: { name: string; namespace?: string } }): Key {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name };
}

/** `namespace/name`, or `name`: what stands in queues, logs and messages. */
export function formatKey(key: Key): string {
  return key.namespace === '' ? key.name : `${key.namespace}/${key.name}`;
}

/** The reverse of `formatKey`. */
export function parseKey(text: string): Key {
  const slash = text.indexOf('/');
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** The reference that makes `owner` the controller of another object: it is deleted with it, and `owns` follows it. */
export function controllerReference(owner: KubeObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
