import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { Connection } from './connection.ts';
import { core, type EventObject } from './kinds.ts';
import { eventMetrics } from './metrics.ts';
import { keyOf, type Desired, type Key, type KubeObject } from './object.ts';
import { resourceClient } from './client.ts';
import { microTime, shorten } from './text.ts';
import { systemTimers, wait, type Timers } from './time.ts';

export type EventNote = {
  regarding: KubeObject;
  type: 'Normal' | 'Warning';
  /** PascalCase constant, for programs: `ScaledUp`. */
  reason: string;
  /** PascalCase, what was done or tried: `Scale`. */
  action: string;
  /** For people; cut at 1024 bytes. */
  note: string;
};

export type EventRecorderOptions = {
  connection: Connection;
  /** `searchcapture.io/capture-lane`. */
  reportingController: string;
  /** The pod. */
  reportingInstance: string;
  log: Logger;
  /** Counts what is dropped. */
  registry?: Registry;
  timers?: Timers;
  wallMs?: () => number;
};

/** Writes events.k8s.io/v1. They are for people: a lost one is logged, and nothing waits for them. */
export type EventRecorder = {
  /**
   * Returns at once. The same note again within 6 minutes becomes one series whose count is written at most once a
   * minute; beyond 25 different ones, and one in 20 s after that, of one object, notes are dropped and counted. So are
   * those that come when 200 wait: after a burst of 100 five are written in a second.
   */
  record(note: EventNote): void;
  /** Writes what is pending, as far as `timeoutMs` allows, and ends. */
  stop(timeoutMs?: number): Promise<void>;
};

const SERIES_MS = 360_000;
const FLUSH_MS = 60_000;
/** Of one object. */
const BURST = 25;
const REFILL_MS = 20_000;
/** Of all: ten thousand new objects shall not wait for ten thousand events that nobody can read. */
const WRITE_BURST = 100;
const WRITE_REFILL_MS = 200;
/** Beyond it the API server is away, or what people need to know is older than what they could read. */
const MOST_PENDING = 200;
const NOTE_BYTES = 1_024;

/** A recorder that writes one event after the other. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { connection, log, timers = systemTimers, wallMs = Date.now } = options;
  const resources = resourceClient(connection, core.events);
  const dropped = eventMetrics(options.registry ?? new Registry());
  const stopping = new AbortController();
  /** Ends the pace: what is pending at the end is written as fast as can be. */
  const hurrying = new AbortController();
  const pace: Budget = { tokens: WRITE_BURST, atMs: timers.nowMs(), burst: WRITE_BURST, refillMs: WRITE_REFILL_MS };
  const series = new Map<string, Series>();
  const budgets = new Map<string, Budget>();
  const pending: (() => Promise<unknown>)[] = [];
  let writing: Promise<void> | undefined;
  let cancelFlush: (() => void) | undefined;

  async function writePending(): Promise<void> {
    for (let write = pending.shift(); write !== undefined; write = pending.shift()) {
      if (!spend(pace, timers.nowMs())) {
        await wait(WRITE_REFILL_MS, hurrying.signal, timers);
        spend(pace, timers.nowMs());
      }
      try {
        await write();
      } catch (error) {
        // Also where the namespace is being deleted, or we lead no more.
        if (!stopping.signal.aborted) log.warn({ err: error }, 'Event was not written');
      }
    }
    writing = undefined;
  }

  function enqueue(write: () => Promise<unknown>): void {
    if (pending.length >= MOST_PENDING) {
      dropped();
      return;
    }
    pending.push(write);
    writing ??= writePending();
  }

  /** Writes counts that grew, and forgets what is over. Runs only while there is something to remember. */
  function flush(): void {
    const nowMs = timers.nowMs();
    for (const [id, one] of series) {
      if (one.count > one.written) enqueue(() => writeCount(one));
      if (nowMs - one.lastMs > SERIES_MS) series.delete(id);
    }
    for (const [uid, budget] of budgets) if (refill(budget, nowMs) >= BURST) budgets.delete(uid);
    cancelFlush = series.size + budgets.size > 0 ? timers.after(FLUSH_MS, flush) : undefined;
  }

  function writeCount(one: Series): Promise<unknown> {
    const { count } = one;
    one.written = count;
    const body = { series: { count, lastObservedTime: microTime(one.lastWallMs) } };
    return resources.patch(one.key, { type: 'merge', body }, { signal: stopping.signal });
  }

  function mayBeNew(uid: string, nowMs: number): boolean {
    const budget = budgets.get(uid) ?? { tokens: BURST, atMs: nowMs, burst: BURST, refillMs: REFILL_MS };
    budgets.set(uid, budget);
    return spend(budget, nowMs);
  }

  return {
    record: (note) => {
      if (stopping.signal.aborted) return;
      const id = JSON.stringify([note.regarding.metadata.uid, note.type, note.reason, note.action, note.note]);
      const known = series.get(id);
      const nowMs = timers.nowMs();
      if (known !== undefined && nowMs - known.lastMs <= SERIES_MS) {
        Object.assign(known, { count: known.count + 1, lastMs: nowMs, lastWallMs: wallMs() });
        return;
      }
      // What is dropped is not remembered either: it may be told when it comes again.
      if (pending.length >= MOST_PENDING || !mayBeNew(note.regarding.metadata.uid, nowMs)) {
        dropped();
        return;
      }
      const event = eventOf(note, options, wallMs());
      series.set(id, { key: keyOf(event), count: 1, written: 1, lastMs: nowMs, lastWallMs: wallMs() });
      enqueue(() => resources.create(event, { signal: stopping.signal }));
      cancelFlush ??= timers.after(FLUSH_MS, flush);
    },
    stop: async (timeoutMs = 5_000) => {
      cancelFlush?.();
      flush();
      cancelFlush?.();
      hurrying.abort();
      const cancel = timers.after(timeoutMs, () => stopping.abort(new Error('the recorder stops')));
      await writing;
      cancel();
      stopping.abort();
    },
  };
}

type Series = { key: Key; count: number; written: number; lastMs: number; lastWallMs: number };

/** A token bucket. */
type Budget = { tokens: number; atMs: number; readonly burst: number; readonly refillMs: number };

function refill(budget: Budget, nowMs: number): number {
  budget.tokens = Math.min(budget.burst, budget.tokens + (nowMs - budget.atMs) / budget.refillMs);
  budget.atMs = nowMs;
  return budget.tokens;
}

/** False where none is left. */
function spend(budget: Budget, nowMs: number): boolean {
  if (refill(budget, nowMs) < 1) return false;
  budget.tokens -= 1;
  return true;
}

function eventOf(note: EventNote, options: EventRecorderOptions, nowMs: number): Desired<EventObject> {
  const { apiVersion, kind, metadata } = note.regarding;
  const { name, namespace = 'default', uid, resourceVersion } = metadata;
  return {
    metadata: { name: `${name.slice(0, 200)}.${randomBytes(8).toString('hex')}`, namespace },
    eventTime: microTime(nowMs),
    type: note.type,
    reason: note.reason,
    action: note.action,
    note: shorten(note.note, NOTE_BYTES),
    regarding: { apiVersion, kind, name, uid, resourceVersion, ...(metadata.namespace !== undefined && { namespace }) },
    reportingController: options.reportingController,
    reportingInstance: options.reportingInstance.slice(0, 128),
  };
}
