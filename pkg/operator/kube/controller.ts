import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Informer } from './informer.ts';
import type { Key, KubeObject } from './object.ts';
import type { WorkQueueOptions } from './queue.ts';
import type { Random, Timers } from './time.ts';

/** `{}` waits for the next change. A time makes the key come again, changed or not. */
export type Result = { readonly requeueAfterMs?: number };

/**
 * Makes the world as the object of `key` wants it. Told nothing of what changed, so that it works from what is. The
 * object may be gone. `signal` aborts at the deadline, at the end of leadership and at the stop: pass it on.
 */
export type Reconcile = (key: Key, signal: AbortSignal) => Promise<Result>;

export type ControllerOptions<T extends KubeObject> = {
  /** Kebab-case; label of metrics, field of logs: `capture-lane`. */
  name: string;
  /** Objects of the controller's own kind. A change of `status` or of managed fields alone wakes nobody. */
  informer: Informer<T, string>;
  reconcile: Reconcile;
  /** Keys worked on at once. 4 unless told. */
  concurrency?: number;
  /** Deadline of one `reconcile`; the pass counts as failed. 30 s unless told. */
  timeoutMs?: number;
  /** Each key comes again after about so long, changed or not. Never unless told. */
  resyncMs?: number;
  backOff?: WorkQueueOptions['backOff'];
  log: Logger;
  registry?: Registry;
  random?: Random;
  timers?: Timers;
};

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

export declare function controllerFor<T extends KubeObject>(options: ControllerOptions<T>): ControllerBuilder;
