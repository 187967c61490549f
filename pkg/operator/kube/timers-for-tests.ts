import type { Timers } from './time.ts';

export type HeldTimers = Timers & {
  /** Lets time pass, and runs what falls due, in order. */
  advance(durationMs: number): void;
};

/** A clock that stands still until told. */
export function holdTimers(): HeldTimers {
  let nowMs = 0;
  const planned = new Set<{ dueMs: number; action: () => void }>();
  const nextUntil = (endMs: number) =>
    [...planned].filter(({ dueMs }) => dueMs <= endMs).sort((one, other) => one.dueMs - other.dueMs)[0];
  return {
    nowMs: () => nowMs,
    after: (delayMs, action) => {
      const timer = { dueMs: nowMs + delayMs, action };
      planned.add(timer);
      return () => planned.delete(timer);
    },
    advance: (durationMs) => {
      const endMs = nowMs + durationMs;
      for (let next = nextUntil(endMs); next !== undefined; next = nextUntil(endMs)) {
        planned.delete(next);
        nowMs = next.dueMs;
        next.action();
      }
      nowMs = endMs;
    },
  };
}
