import type { Clock } from '../../runtime/index.ts';

/** Clock and timers together, so that tests hold both. */
export type Timers = Clock & {
  /** Runs `action` once after `delayMs`; the answer takes it back. */
  after(delayMs: number, action: () => void): () => void;
};

/** 0 (included) to 1 (excluded), as Math.random. */
export type Random = () => number;

// What setTimeout can hold; it fires at once for anything longer.
const LONGEST_MS = 2 ** 31 - 1;

/** Steady: a step of the machine's time of day moves no timer. */
export const systemTimers: Timers = {
  nowMs: () => performance.now(),
  after: (delayMs, action) => {
    const timer = setTimeout(action, Math.min(delayMs, LONGEST_MS));
    return () => clearTimeout(timer);
  },
};

/** `delayMs` made up to `share` longer or shorter, so that many clients don't come back in step. */
export function jitter(delayMs: number, share: number, random: Random): number {
  return delayMs * (1 - share + 2 * share * random());
}

/** Waits; returns early, without an error, when `signal` aborts. */
export function wait(delayMs: number, signal: AbortSignal, timers: Timers): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = timers.after(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** True when `work`, which must not reject, ends within the time. */
export async function endsWithin(work: Promise<unknown>, timeoutMs: number, timers: Timers): Promise<boolean> {
  const over = new AbortController();
  const late = wait(timeoutMs, over.signal, timers).then(() => false);
  const inTime = await Promise.race([work.then(() => true), late]);
  // With a reason: without one each pass would make an error, with its stack.
  over.abort('over');
  return inTime;
}

/** Resolves when `signal` is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

export type ChildSignal = {
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  /** Must be called when the work is done: until then the parent holds on to it. */
  readonly release: () => void;
};

/** A signal that aborts with any of `parents`, or alone. Unlike `AbortSignal.any` it leaves nothing behind in a parent that lives on. */
export function childSignal(...parents: readonly (AbortSignal | undefined)[]): ChildSignal {
  const controller = new AbortController();
  const undo: (() => void)[] = [];
  for (const parent of parents) {
    if (parent === undefined) continue;
    const follow = (): void => controller.abort(parent.reason);
    if (parent.aborted) follow();
    else parent.addEventListener('abort', follow, { once: true });
    undo.push(() => parent.removeEventListener('abort', follow));
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => {
      for (const step of undo) step();
    },
  };
}
