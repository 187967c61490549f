import { Registry } from 'prom-client';
import { queueMetrics } from './metrics.ts';
import { jitter, systemTimers, type Random, type Timers } from './time.ts';

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

const BACK_OFF = { minMs: 200, maxMs: 120_000 };
const BACK_OFF_JITTER = 0.2;

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { name, backOff = BACK_OFF, registry = new Registry(), random = Math.random, timers = systemTimers } = options;
  const metrics = queueMetrics(registry, name);
  /** Waits to be taken, with the time it was added; in the order of adding, as a Map keeps it. */
  const waiting = new Map<string, number>();
  /** Taken and not done, with the time it was taken. */
  const taken = new Map<string, number>();
  /** Taken, and added again since. */
  const again = new Set<string>();
  const later = new Map<string, { dueMs: number; cancel: () => void }>();
  const failures = new Map<string, number>();
  const takers: ((key: string | undefined) => void)[] = [];
  let drained: (() => void) | undefined;

  function put(key: string): void {
    waiting.set(key, timers.nowMs());
    const taker = takers.shift();
    if (taker !== undefined) taker(pick());
    metrics.depth(waiting.size);
  }

  function pick(): string | undefined {
    const [first] = waiting;
    if (first === undefined) return undefined;
    const [key, addedMs] = first;
    const nowMs = timers.nowMs();
    waiting.delete(key);
    taken.set(key, nowMs);
    metrics.waited((nowMs - addedMs) / 1000);
    metrics.depth(waiting.size);
    return key;
  }

  function add(key: string): void {
    if (drained !== undefined || waiting.has(key) || again.has(key)) return;
    metrics.added();
    if (taken.has(key)) again.add(key);
    else put(key);
  }

  function addAfter(key: string, delayMs: number): void {
    if (drained !== undefined) return;
    const dueMs = timers.nowMs() + delayMs;
    const planned = later.get(key);
    if (planned !== undefined && planned.dueMs <= dueMs) return;
    planned?.cancel();
    const cancel = timers.after(delayMs, () => {
      later.delete(key);
      add(key);
    });
    later.set(key, { dueMs, cancel });
  }

  return {
    add,
    addAfter,
    addBackedOff: (key) => {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      const delayMs = jitter(Math.min(backOff.minMs * 2 ** count, backOff.maxMs), BACK_OFF_JITTER, random);
      metrics.retried();
      addAfter(key, delayMs);
      return delayMs;
    },
    forget: (key) => void failures.delete(key),
    take: () => {
      const key = pick();
      if (key !== undefined || drained !== undefined) return Promise.resolve(key);
      return new Promise((resolve) => takers.push(resolve));
    },
    done: (key) => {
      const takenMs = taken.get(key);
      if (takenMs === undefined) return;
      metrics.worked((timers.nowMs() - takenMs) / 1000);
      taken.delete(key);
      if (again.delete(key)) put(key);
      if (taken.size === 0) drained?.();
    },
    get length() {
      return waiting.size;
    },
    drain: () =>
      new Promise((resolve) => {
        const before = drained;
        drained = () => {
          before?.();
          resolve();
        };
        for (const { cancel } of later.values()) cancel();
        for (const taker of takers.splice(0)) taker(undefined);
        later.clear();
        waiting.clear();
        again.clear();
        metrics.depth(0);
        if (taken.size === 0) drained();
      }),
  };
}
