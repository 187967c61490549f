const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Pauses after each failed attempt but the last (design "Webhooks"). The first attempt is made at once. */
const PAUSES_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
];

/** Receivers that fell over together must not be called back together. */
const JITTER = 0.2;

/** A receiver may ask for patience, but not for ever. */
const LONGEST_HINT_MS = 10 * HOUR_MS;

export type FailedAttempt = {
  /** How many attempts have been made, this one included. */
  attempts: number;
  /** From 0 to 1. */
  random: () => number;
  /** What the receiver asked for by `Retry-After`. */
  retryAfterMs: number | undefined;
};

/** Milliseconds until the next attempt, or null when that was the last one. */
export function nextPauseMs({ attempts, random, retryAfterMs = 0 }: FailedAttempt): number | null {
  const pauseMs = PAUSES_MS[attempts - 1];
  if (pauseMs === undefined) return null;
  return Math.round(Math.max(spread(pauseMs, random), Math.min(retryAfterMs, LONGEST_HINT_MS)));
}

/** `durationMs`, 20 % shorter to 20 % longer. */
export function spread(durationMs: number, random: () => number): number {
  return durationMs * (1 - JITTER + 2 * JITTER * random());
}

const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Reads `Retry-After`, seconds or an HTTP date. Anything else is as if it were not there. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,15}$/.test(header)) return Number(header) * SECOND_MS;
  if (!HTTP_DATE.test(header)) return undefined;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
