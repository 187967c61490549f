import type { Clock } from '../runtime/index.ts';

/** Keeps a broken destination from being called on and on. It only delays: no delivery is ever given up here. */
export type Breaker = {
  /** Milliseconds to wait before `key` may be tried; 0 lets this one attempt through. */
  admit(key: string): number;
  /** Tells how an admitted attempt went. */
  record(key: string, working: boolean): void;
};

export type BreakerOptions = {
  clock: Clock;
  /** Failures in a row that open it. */
  threshold: number;
  /** How long it is open at first; doubles with every failed probe. */
  openMs: number;
  longestOpenMs: number;
  /** While one probe runs the others wait; longer than any attempt takes, in case the probe's end is never told. */
  probeMs: number;
};

type Circuit = { failures: number; openUntilMs: number };

/** A forgotten circuit only means that a broken destination is tried again, so memory may be bounded plainly. */
const MOST_CIRCUITS = 10_000;

export function createBreaker({ clock, threshold, openMs, longestOpenMs, probeMs }: BreakerOptions): Breaker {
  const circuits = new Map<string, Circuit>();

  return {
    admit: (key) => {
      const circuit = circuits.get(key);
      if (circuit === undefined || circuit.failures < threshold) return 0;
      const waitMs = circuit.openUntilMs - clock.nowMs();
      if (waitMs > 0) return waitMs;
      circuit.openUntilMs = clock.nowMs() + probeMs;
      return 0;
    },
    record: (key, working) => {
      const failures = (circuits.get(key)?.failures ?? 0) + 1;
      // Taken out and put in again, so that the map stays in order of last use.
      circuits.delete(key);
      if (working) return;
      const openForMs = Math.min(openMs * 2 ** Math.max(0, failures - threshold), longestOpenMs);
      circuits.set(key, { failures, openUntilMs: clock.nowMs() + openForMs });
      const [oldest] = circuits.keys();
      if (circuits.size > MOST_CIRCUITS && oldest !== undefined) circuits.delete(oldest);
    },
  };
}
