import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { Cache, type Change, type Indexers } from './cache.ts';
import { KubeError, isFailure } from './errors.ts';
import { informerMetrics } from './metrics.ts';
import { keyOf, type Key, type KubeObject } from './object.ts';
import type { ResourceClient, Scope, WatchEvent } from './resources.ts';
import { aborted, childSignal, jitter, systemTimers, wait, type Random, type Timers } from './time.ts';

export type InformerOptions<T extends KubeObject, Index extends string> = {
  resources: ResourceClient<T>;
  scope?: Scope;
  /** Values under which an object is found by `byIndex`. */
  indexes?: Indexers<T, Index>;
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
  /** A watch that lived so long, or brought anything, was healthy: the back-off starts over. */
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
  /**
   * Resolves when `get` gives this version of the object, which a write has just answered with; at the latest after two
   * seconds, or when `signal` aborts. The API server computes a write twice while its own cache, from which we hear of
   * changes, is behind the write before: wait for the first between two writes to one object.
   */
  shows(object: T, signal: AbortSignal): Promise<void>;
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

/** Far above what a change takes to come back from an API server that works. */
const SHOWN_TIMEOUT_MS = 2_000;

const TIMING: InformerTiming = {
  watchMinMs: 240_000,
  watchMaxMs: 300_000,
  inactivityMs: 90_000,
  backOffMinMs: 800,
  backOffMaxMs: 30_000,
  healthyMs: 10_000,
  listTimeoutMs: 30_000,
  relistMs: 600_000,
};

/** An informer before its start. Nothing is read yet. */
export function createInformer<T extends KubeObject, Index extends string = never>(
  options: InformerOptions<T, Index>,
): Informer<T, Index> {
  const { resources, scope = {}, log, random = Math.random, timers = systemTimers } = options;
  const transform = options.transform ?? keepManagedFieldsOf();
  const timing = { ...TIMING, ...options.timing };
  const { plural } = resources.kind;
  const metrics = informerMetrics(options.registry ?? new Registry(), plural);
  const cache = new Cache<T, Index>(options.indexes ?? {});
  const listeners = new Set<(change: Change<T>) => void>();
  const stopping = new AbortController();
  const firstList = new AbortController();
  let heardMs = timers.nowMs();
  let running: Promise<void> = Promise.resolve();

  function tell(change: Change<T> | undefined): void {
    if (change === undefined) return;
    metrics.objects(cache.size);
    for (const listener of listeners) listener(change);
  }

  async function relist(): Promise<Position> {
    const limits = { signal: stopping.signal, timeoutMs: timing.listTimeoutMs };
    const { items, resourceVersion } = await resources.list(scope, limits);
    heardMs = timers.nowMs();
    for (const change of cache.replaceAll(items.map(transform))) tell(change);
    metrics.relisted();
    firstList.abort();
    return { version: resourceVersion, listedMs: heardMs };
  }

  /** One watch. Moves `position` on with each event, so that the next watch starts where this one ended. */
  async function follow(position: Position): Promise<void> {
    const silence = childSignal(stopping.signal);
    const { inactivityMs, watchMinMs, watchMaxMs } = timing;
    const bark = (): void => silence.abort(new Error(`nothing heard for ${inactivityMs} ms`));
    let calm = timers.after(inactivityMs, bark);
    try {
      const events = resources.watch({
        ...scope,
        resourceVersion: position.version,
        timeoutSeconds: Math.ceil((watchMinMs + (watchMaxMs - watchMinMs) * random()) / 1000),
        signal: silence.signal,
      });
      for await (const event of events) {
        calm();
        calm = timers.after(inactivityMs, bark);
        heardMs = timers.nowMs();
        if (event.type === 'DELETED') tell(cache.remove(keyOf(event.object)));
        else if (event.type !== 'BOOKMARK') tell(cache.put(transform(event.object)));
        position.version = versionOf(event);
      }
    } finally {
      calm();
      silence.release();
    }
  }

  const isStopping = (): boolean => stopping.signal.aborted;

  async function run(): Promise<void> {
    let position: Position | undefined;
    let failures = 0;
    while (!isStopping()) {
      const startedMs = timers.nowMs();
      try {
        if (position === undefined || startedMs - position.listedMs > timing.relistMs) position = await relist();
        await follow(position);
        metrics.watchEnded('timeout');
      } catch (error) {
        if (isStopping()) return;
        const isExpired = isFailure(error, 'expired');
        if (isExpired) position = undefined;
        metrics.watchEnded(error instanceof KubeError ? error.failure : 'other');
        log.warn({ err: error, kind: plural, relist: isExpired }, 'Watch was cut');
      }
      // A watch that told us something worked: after it only the shortest wait is due, however soon it was cut.
      const hasHeard = heardMs > Math.max(startedMs, position?.listedMs ?? 0);
      const isHealthy = hasHeard || timers.nowMs() - startedMs >= timing.healthyMs;
      failures = isHealthy ? 0 : failures + 1;
      const delayMs = Math.min(timing.backOffMinMs * 2 ** Math.max(failures - 1, 0), timing.backOffMaxMs);
      await wait(jitter(delayMs, 0.5, random), stopping.signal, timers);
    }
  }

  async function shows({ metadata }: T, until: AbortSignal): Promise<void> {
    const isIt = (object: T | undefined): boolean => object?.metadata.resourceVersion === metadata.resourceVersion;
    if (isIt(cache.get(keyOf({ metadata })))) return;
    const { signal, abort, release } = childSignal(until);
    const cancel = timers.after(SHOWN_TIMEOUT_MS, () => abort('late'));
    const listener = ({ after }: Change<T>): void => {
      if (isIt(after)) abort('shown');
    };
    listeners.add(listener);
    await aborted(signal);
    listeners.delete(listener);
    cancel();
    release();
  }

  return {
    resources,
    get: (key) => cache.get(key),
    list: (namespace) => {
      const all = cache.list();
      return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
    },
    byIndex: (index, value) => cache.byIndex(index, value),
    shows,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    hasSynced: () => firstList.signal.aborted,
    synced: async (signal) => {
      const either = childSignal(signal, firstList.signal);
      await aborted(either.signal);
      either.release();
      if (!firstList.signal.aborted)
        throw new Error(`the first list of ${plural} did not arrive`, { cause: signal.reason });
    },
    silentMs: () => timers.nowMs() - heardMs,
    start: () => {
      running = run();
    },
    stop: async () => {
      stopping.abort();
      await running;
      listeners.clear();
    },
  };
}

/** How far we have read, and when everything was read last. */
type Position = { version: string; listedMs: number };

function versionOf(event: WatchEvent<KubeObject>): string {
  return event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
}

/** A transform that keeps, of `managedFields`, only what these managers own: what `createApplier` compares. */
export function keepManagedFieldsOf(...managers: readonly string[]): <T extends KubeObject>(object: T) => T {
  return (object) => {
    const { managedFields, ...metadata } = object.metadata;
    const kept = managedFields?.filter(({ manager }) => manager !== undefined && managers.includes(manager)) ?? [];
    return { ...object, metadata: kept.length === 0 ? metadata : { ...metadata, managedFields: kept } };
  };
}
