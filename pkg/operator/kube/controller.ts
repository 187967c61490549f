import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { Change } from './cache.ts';
import type { Informer } from './informer.ts';
import { formatKey, keyOf, type Key, type Kind, type KubeObject } from './object.ts';
import { LINGER_MS, createPass } from './pass.ts';
import { createWorkQueue } from './queue.ts';
import type { ControllerOptions } from './reconcile.ts';
import { endsWithin, systemTimers } from './time.ts';

/** Starts telling keys, and returns how to stop it. */
export type Trigger = (enqueue: (key: Key) => void) => () => void;

/** A controller before its start: what else wakes it. Each call returns the same builder. */
export type ControllerBuilder = {
  /** A change of an object whose controlling owner is of the controller's kind wakes the owner. */
  owns<O extends KubeObject>(informer: Informer<O, string>): ControllerBuilder;
  /** A change wakes the keys that `map` names, for the object as it was and as it is. */
  watches<O extends KubeObject>(informer: Informer<O, string>, map: (object: O) => readonly Key[]): ControllerBuilder;
  /** Something outside the cluster wakes keys. */
  triggeredBy(trigger: Trigger): ControllerBuilder;
  /** Waits for all informers to be synced, then works. The informers are started and stopped by who made them. */
  start(): Controller;
};

export type Controller = {
  /** Wakes a key, as a trigger does. */
  enqueue(key: Key): void;
  /** True once workers run. */
  isRunning(): boolean;
  /** Takes no more keys, aborts after `graceMs` what runs, resolves when every worker has ended. */
  stop(graceMs?: number): Promise<void>;
};

const CONCURRENCY = 4;
const STOP_GRACE_MS = 10_000;

/** Starts to describe a controller; nothing runs before `start`. */
export function controllerFor<T extends KubeObject>(options: ControllerOptions<T>): ControllerBuilder {
  const { informer, name, log } = options;
  const sources: Source[] = [sourceOf(informer, log, (object) => [keyOf(object)], isOfInterest)];
  const triggers: Trigger[] = [];
  const builder: ControllerBuilder = {
    owns: (owned) => {
      sources.push(sourceOf(owned, log, (object) => ownersOf(object, informer.resources.kind)));
      return builder;
    },
    watches: (other, map) => {
      sources.push(sourceOf(other, log, map));
      return builder;
    },
    triggeredBy: (trigger) => {
      triggers.push(trigger);
      return builder;
    },
    start: () => startController(options, sources, triggers, log.child({ controller: name })),
  };
  return builder;
}

/** What wakes keys: an informer with its mapper. */
type Source = {
  synced(signal: AbortSignal): Promise<void>;
  subscribe(enqueue: (key: Key) => void): () => void;
  /** Wakes the keys of all that is there. */
  replay(enqueue: (key: Key) => void): void;
};

function sourceOf<O extends KubeObject>(
  informer: Informer<O, string>,
  log: Logger,
  map: (object: O) => readonly Key[],
  matters: (change: Change<O>) => boolean = () => true,
): Source {
  // A listener that throws would stop its informer.
  const mapSafely = (object: O | undefined): readonly Key[] => {
    try {
      return object === undefined ? [] : map(object);
    } catch (error) {
      log.error({ err: error }, 'Mapper failed');
      return [];
    }
  };
  return {
    synced: (signal) => informer.synced(signal),
    subscribe: (enqueue) =>
      informer.subscribe((change) => {
        if (!matters(change)) return;
        // Once each: a worker that waits takes the first at once, and the second would be another pass.
        const keys = [...mapSafely(change.before), ...mapSafely(change.after)];
        for (const key of new Map(keys.map((one) => [formatKey(one), one])).values()) enqueue(key);
      }),
    replay: (enqueue) => {
      for (const object of informer.list()) for (const key of mapSafely(object)) enqueue(key);
    },
  };
}

/**
 * What a controller writes itself, status, finalizers and managed fields, must not wake it: it would never come to rest,
 * or do all its work twice. A finalizer that matters does so once the object is being deleted.
 */
function isOfInterest({ before, after }: Change<KubeObject>): boolean {
  if (before === undefined || after === undefined || after.metadata.generation === undefined) return true;
  return !isDeepStrictEqual(wishesOf(before), wishesOf(after));
}

function wishesOf({ metadata }: KubeObject): readonly unknown[] {
  const { uid, generation, labels, annotations, ownerReferences, deletionTimestamp } = metadata;
  return [uid, generation, labels, annotations, ownerReferences, deletionTimestamp];
}

function ownersOf(object: KubeObject, owner: Kind<KubeObject>): readonly Key[] {
  const controlling = object.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (controlling?.kind !== owner.kind || groupOf(controlling.apiVersion) !== groupOf(owner.apiVersion)) return [];
  return [{ namespace: owner.namespaced ? (object.metadata.namespace ?? '') : '', name: controlling.name }];
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

function startController<T extends KubeObject>(
  options: ControllerOptions<T>,
  sources: readonly Source[],
  triggers: readonly Trigger[],
  log: Logger,
): Controller {
  const {
    name,
    concurrency = CONCURRENCY,
    backOff,
    registry = new Registry(),
    random,
    timers = systemTimers,
  } = options;
  const queue = createWorkQueue({
    name,
    registry,
    ...(backOff && { backOff }),
    ...(random && { random }),
    timers,
  });
  const pass = createPass(options, queue, log, registry);
  const stopping = new AbortController();
  const cutting = new AbortController();
  const enqueue = (key: Key): void => queue.add(formatKey(key));
  const silence = [
    ...sources.map((source) => source.subscribe(enqueue)),
    ...triggers.map((trigger) => trigger(enqueue)),
  ];
  let running = false;

  async function work(): Promise<void> {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) await pass(key, cutting.signal);
  }

  async function run(): Promise<void> {
    try {
      await Promise.all(sources.map((source) => source.synced(stopping.signal)));
    } catch (error) {
      // Stopped before the caches were full: no pass may run on half a view.
      log.info({ err: error }, 'Stopped before the start');
      return;
    }
    sources[0]?.replay(enqueue);
    running = true;
    log.info({ concurrency }, 'Started');
    await Promise.all(Array.from({ length: concurrency }, work));
    running = false;
  }

  const ended = run();
  return {
    enqueue,
    isRunning: () => running,
    stop: async (graceMs = STOP_GRACE_MS) => {
      stopping.abort();
      for (const end of silence) end();
      const drained = queue.drain();
      if (!(await endsWithin(drained, graceMs, timers))) {
        cutting.abort(new Error('the controller stops'));
        if (!(await endsWithin(drained, LINGER_MS, timers)))
          log.error('Stopped, though a reconcile ignores its signal');
      }
      await ended;
      log.info('Stopped');
    },
  };
}
