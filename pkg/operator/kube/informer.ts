import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Key, KubeObject } from './object.ts';
import type { ResourceClient, Scope } from './resources.ts';
import type { Random, Timers } from './time.ts';

/** `before` is absent for a new object, `after` for one that is gone. */
export type Change<T> = { readonly key: Key; readonly before: T | undefined; readonly after: T | undefined };

export type InformerOptions<T extends KubeObject, Index extends string> = {
  resources: ResourceClient<T>;
  scope?: Scope;
  /** Values under which an object is found by `byIndex`. */
  indexes?: Readonly<Record<Index, (object: T) => readonly string[]>>;
  /** What is kept of an object. Drops `metadata.managedFields` unless told; see `keepManagedFieldsOf`. */
  transform?: (object: T) => T;
  log: Logger;
  registry?: Registry;
  timing?: Partial<InformerTiming>;
  random?: Random;
  timers?: Timers;
};

export type InformerTiming = {
  /** The API server ends a watch after a time between these. */
  watchMinMs: number;
  watchMaxMs: number;
  /** Silence, bookmarks included, after which a watch is taken for dead. Above the server's bookmark period of 1 min. */
  inactivityMs: number;
  /** Wait before the next attempt: from `backOffMinMs`, doubling to `backOffMaxMs`, each with jitter. */
  backOffMinMs: number;
  backOffMaxMs: number;
  /** A watch that lived so long was healthy: the back-off starts over. */
  healthyMs: number;
  /** The deadline of one page of a list. */
  listTimeoutMs: number;
  /** Everything is read anew after so long, as the net under all else. */
  relistMs: number;
};

/**
 * The objects of one kind, kept in memory and up to date. What it returns is shared and must not be changed. Reads may
 * be a moment old; a reconciler that acts on them comes again when the change arrives.
 */
export type Informer<T extends KubeObject, Index extends string = never> = {
  readonly resources: ResourceClient<T>;
  get(key: Key): T | undefined;
  list(namespace?: string): readonly T[];
  byIndex(index: Index, value: string): readonly T[];
  /** Called for each change, after the cache holds it. Must not throw; returns how to stop. */
  subscribe(listener: (change: Change<T>) => void): () => void;
  /** True after the first full list. */
  hasSynced(): boolean;
  /** Resolves after the first full list; rejects when `signal` aborts before. */
  synced(signal: AbortSignal): Promise<void>;
  /** Milliseconds since the API server last said anything, for probes. */
  silentMs(): number;
  start(): void;
  /** Resolves when its loop has ended and no listener is called any more. */
  stop(): Promise<void>;
};

export declare function createInformer<T extends KubeObject, Index extends string = never>(
  options: InformerOptions<T, Index>,
): Informer<T, Index>;

/** A transform that keeps, of `managedFields`, only what these managers own: what `createApplier` compares. */
export declare function keepManagedFieldsOf<T extends KubeObject>(...managers: readonly string[]): (object: T) => T;
