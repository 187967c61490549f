import type { Call, Connection } from './connection.ts';
import { isFailure } from './errors.ts';
import { listAll, watchChanges } from './listing.ts';
import { keyOf, type Desired, type Key, type Kind, type KubeObject } from './object.ts';
import { collectionOf, pathOf, readObject } from './wire.ts';

export type CallOptions = {
  signal?: AbortSignal;
  /** For the whole call, retries included. 10 s unless told. */
  timeoutMs?: number;
};

export type ApplyOptions = CallOptions & {
  /** Fields belong to it: two writers with one name would delete each other's. */
  fieldManager: string;
  /** Takes fields from other managers. True unless told, as a controller must: a conflict would stop it for good. */
  force?: boolean;
};

/** Which objects. A selector uses the API server's syntax: `app=web`, `metadata.name=x`, `spec.surface=assistant-one`. */
export type Scope = { namespace?: string; labelSelector?: string; fieldSelector?: string };

export type Listed<T> = { readonly items: readonly T[]; readonly resourceVersion: string };

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Nothing changed; watching may go on from here. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

export type WatchOptions = Scope & {
  resourceVersion: string;
  /** The API server ends the watch then. */
  timeoutSeconds: number;
  /** Ends the watch. There is no deadline beside it: who watches must notice silence. */
  signal: AbortSignal;
};

export type Patch =
  | { readonly type: 'merge'; readonly body: object }
  | { readonly type: 'json'; readonly body: readonly JsonPatchStep[] };

export type JsonPatchStep =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

export type PatchOptions = CallOptions & { fieldManager?: string; subresource?: 'status' };

export type DeleteOptions = CallOptions & {
  /** What happens to what it owns. The kind's default unless told. */
  propagation?: 'Background' | 'Foreground' | 'Orphan';
  /** Deletes only the object that was looked at, not one of the same name that came after. */
  uid?: string;
  resourceVersion?: string;
};

/**
 * Reads and writes objects of one kind. Everything is the server's JSON as it is: no field is dropped for being
 * unknown, and times are text. Every call rejects with a KubeError; every call but `watch` has a deadline.
 */
export type ResourceClient<T extends KubeObject> = {
  readonly kind: Kind<T>;
  /** Rejects with `notFound` when it is not there. */
  get(key: Key, options?: CallOptions): Promise<T>;
  find(key: Key, options?: CallOptions): Promise<T | undefined>;
  /** All of them, read page by page as of one moment. The deadline is for each page. */
  list(scope?: Scope & { pageSize?: number }, options?: CallOptions): Promise<Listed<T>>;
  /** Changes as they come. Ends when the server ends it; rejects with `expired` when the version is too old. */
  watch(options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create(object: Desired<T>, options?: CallOptions & { fieldManager?: string }): Promise<T>;
  /** Writes the whole object over the version that it was read at; `conflict` when it has changed since. */
  replace(object: T, options?: CallOptions & { fieldManager?: string }): Promise<T>;
  /** Server-side apply: creates the object, or makes the given fields so and drops those we gave before. */
  apply(object: Desired<T>, options: ApplyOptions): Promise<T>;
  applyStatus(object: Desired<T>, options: ApplyOptions): Promise<T>;
  /** Writes only `/scale`, so that replicas have an owner of their own. */
  scale(key: Key, replicas: number, options: CallOptions & { fieldManager: string }): Promise<void>;
  /** Of a subresource only `status` answers with the object; replicas are written by `scale`. */
  patch(key: Key, patch: Patch, options?: PatchOptions): Promise<T>;
  /** Resolves to false when it was not there. */
  delete(key: Key, options?: DeleteOptions): Promise<boolean>;
};

/** The client of one kind. Makes no call itself. */
export function resourceClient<T extends KubeObject>(connection: Connection, kind: Kind<T>): ResourceClient<T> {
  const read = (value: unknown): T => readObject(kind, value);
  const write = async (object: object, call: Call): Promise<T> =>
    read(await connection.call({ ...call, body: { apiVersion: kind.apiVersion, kind: kind.kind, ...object } }));

  const apply = (object: Desired<T>, options: ApplyOptions, subresource: '' | 'status'): Promise<T> => {
    const { fieldManager, force = true, ...limits } = options;
    const path = pathOf(kind, keyOf(object), subresource);
    const query = { fieldManager, force: String(force) };
    return write(object, { method: 'PATCH', path, query, contentType: CONTENT_TYPES.apply, ...limits });
  };

  const client: ResourceClient<T> = {
    kind,
    get: async (key, options) => read(await connection.call({ method: 'GET', path: pathOf(kind, key), ...options })),
    find: async (key, options) => {
      try {
        return await client.get(key, options);
      } catch (error) {
        if (isFailure(error, 'notFound')) return undefined;
        throw error;
      }
    },
    list: (scope, options) => listAll(connection, kind, scope ?? {}, options ?? {}),
    watch: (options) => watchChanges(connection, kind, options),
    create: (object, options) => {
      const { fieldManager, ...limits } = options ?? {};
      const path = collectionOf(kind, object.metadata.namespace);
      return write(object, { method: 'POST', path, query: { fieldManager }, ...limits });
    },
    replace: (object, options) => {
      const { fieldManager, ...limits } = options ?? {};
      return write(object, { method: 'PUT', path: pathOf(kind, keyOf(object)), query: { fieldManager }, ...limits });
    },
    apply: (object, options) => apply(object, options, ''),
    applyStatus: (object, options) => apply(object, options, 'status'),
    scale: async (key, replicas, { fieldManager, ...limits }) => {
      // Applied, not patched: only so does the server note whose the replicas are.
      const query = { fieldManager, force: 'true' };
      const body = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: key, spec: { replicas } };
      const contentType = CONTENT_TYPES.apply;
      await connection.call({ method: 'PATCH', path: pathOf(kind, key, 'scale'), query, contentType, body, ...limits });
    },
    patch: async (key, { type, body }, options) => {
      const { fieldManager, subresource, ...limits } = options ?? {};
      const path = pathOf(kind, key, subresource);
      const contentType = CONTENT_TYPES[type];
      return read(
        await connection.call({ method: 'PATCH', path, query: { fieldManager }, contentType, body, ...limits }),
      );
    },
    delete: async (key, options) => {
      const { propagation, uid, resourceVersion, ...limits } = options ?? {};
      const body = { propagationPolicy: propagation, preconditions: { uid, resourceVersion } };
      try {
        await connection.call({ method: 'DELETE', path: pathOf(kind, key), body, ...limits });
        return true;
      } catch (error) {
        if (isFailure(error, 'notFound')) return false;
        throw error;
      }
    },
  };
  return client;
}

const CONTENT_TYPES = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;
