import type { Clock } from '../../runtime/index.ts';

/** Clock and timers together, so that tests hold both. */
export type Timers = Clock & {
  /** Runs `action` once after `delayMs`; the answer takes it back. */
  after(delayMs: number, action: () => void): () => void;
};

/** 0 (included) to 1 (excluded), as Math.random. */
export type Random = () => number;

/** Steady: a step of the machine's clock moves no timer. */
export const systemTimers: Timers = {
  nowMs: () => performance.now(),
  after: (delayMs, action) => {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};

/** `delayMs` made up to `share` longer or shorter, so that many clients don't come back in step. */
export function jitter(delayMs: number, share: number, random: Random): number {
  return delayMs * (1 - share + 2 * share * random());
}
