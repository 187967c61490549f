import type { Registry } from 'prom-client';
import type { Random, Timers } from './time.ts';

export type WorkQueueOptions = {
  /** Label of its metrics. */
  name: string;
  /** Back-off of a key that fails: `minMs`, doubling to `maxMs`, each 20 % longer or shorter. 200 ms and 2 min unless told. */
  backOff?: { minMs: number; maxMs: number };
  registry?: Registry;
  random?: Random;
  timers?: Timers;
};

/**
 * Keys that need work. A key is in it once however often it was added; it is never given to two workers at once; one
 * that is added while it is worked on is given out again after `done`.
 */
export type WorkQueue = {
  add(key: string): void;
  /** Adds it later. Of several times for one key the earliest counts. */
  addAfter(key: string, delayMs: number): void;
  /** Adds it after its back-off, which grows with each call until `forget`. Returns the wait. */
  addBackedOff(key: string): number;
  /** It went well: its back-off starts over. */
  forget(key: string): void;
  /** The next key, first come first served; waits for one. Undefined when the queue is stopped. */
  take(): Promise<string | undefined>;
  /** Must be called once for each key taken. */
  done(key: string): void;
  /** Keys that wait to be taken now. */
  readonly length: number;
  /** Nothing is added or given out any more; resolves when every taken key is done. */
  drain(): Promise<void>;
};

export declare function createWorkQueue(options: WorkQueueOptions): WorkQueue;
