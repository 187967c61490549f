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
 * object may be gone. Never runs twice at once for one key. `signal` aborts at the deadline, at the end of leadership and at the stop: pass it on.
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
