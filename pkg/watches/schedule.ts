const MINUTE_MS = 60_000;

export type Tick = {
  tickMs: number;
  intervalMinutes: number;
  /** The watch's own share of the spreading window, from 0 to 1. */
  jitter: number;
};

/**
 * How long after its tick a watch is dispatched, so that many with the same tick do not start at once. Never a whole
 * interval: a tick is dispatched before the next one comes.
 */
export function spreadMs({ intervalMinutes, jitter }: Omit<Tick, 'tickMs'>, windowSeconds: number): number {
  return Math.floor(Math.min(windowSeconds * 1000, intervalMinutes * MINUTE_MS) * jitter);
}

/**
 * The tick after this one that is not due yet, and how many were missed before it. It is a whole number of intervals
 * away, however late the dispatch is: the grid does not drift, and missed ticks collapse into the run of this one.
 */
export function nextTick(tick: Tick, nowMs: number, windowSeconds: number): { nextTickMs: number; missed: number } {
  const intervalMs = tick.intervalMinutes * MINUTE_MS;
  const lateMs = nowMs - spreadMs(tick, windowSeconds) - tick.tickMs;
  const missed = Math.max(0, Math.floor(lateMs / intervalMs));
  return { nextTickMs: tick.tickMs + (missed + 1) * intervalMs, missed };
}
