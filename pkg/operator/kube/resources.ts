import type { Desired, Key, Kind, KubeObject } from './object.ts';

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
