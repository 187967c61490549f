const MINUTES = { m: 1, h: 60, d: 1440 } as const;

/** The named intervals of a watch (spec 4.13, 8). */
export const EVERY_VALUES = ['15m', '30m', '1h', '6h', '12h', '1d', '7d'] as const;
export type Every = (typeof EVERY_VALUES)[number];

/** What a Postgres integer holds: 4083 years, so that the next tick still is a date with a four-digit year. */
export const MAX_INTERVAL_MINUTES = 2_147_483_647;

/** Minutes of a named interval; null for any other text. */
export function parseEvery(text: string): number | null {
  const every = EVERY_VALUES.find((value) => value === text);
  if (every === undefined) return null;
  const count = Number.parseInt(every, 10);
  if (every.endsWith('d')) return count * MINUTES.d;
  return count * (every.endsWith('h') ? MINUTES.h : MINUTES.m);
}

/** An interval in the largest unit that is exact: 45 is `45m`, 120 is `2h`, 4320 is `3d`. */
export function formatEvery(intervalMinutes: number): string {
  if (intervalMinutes % MINUTES.d === 0) return `${intervalMinutes / MINUTES.d}d`;
  if (intervalMinutes % MINUTES.h === 0) return `${intervalMinutes / MINUTES.h}h`;
  return `${intervalMinutes}m`;
}
