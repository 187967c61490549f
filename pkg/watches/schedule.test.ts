import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nextTick, spreadMs } from './schedule.ts';

const HOUR_MS = 3_600_000;
const at = (text: string): number => Date.parse(`2026-07-01T${text}Z`);
const hourly = (tick: string, jitter = 0) => ({ tickMs: at(tick), intervalMinutes: 60, jitter });

describe('the next tick', () => {
  it.each([
    ['on time', '10:00:00', '11:00:00', 0],
    ['a little late', '10:00:59', '11:00:00', 0],
    ['a moment before the next', '10:59:59', '11:00:00', 0],
    ['at the next', '11:00:00', '12:00:00', 1],
    ['hours late', '13:20:00', '14:00:00', 3],
    ['by a clock that is behind', '09:59:00', '11:00:00', 0],
  ])('of a run that is dispatched %s is on the grid', (_, now, next, missed) => {
    expect(nextTick(hourly('10:00:00'), at(now), 0)).toEqual({ nextTickMs: at(next), missed });
  });

  it('is not taken for missed while its own share of the window lasts', () => {
    // The watch is dispatched 30 minutes after each tick: at 11:15 the tick of 11:00 is still to come.
    expect(nextTick(hourly('10:00:00', 0.5), at('11:15:00'), 3600)).toEqual({ nextTickMs: at('11:00:00'), missed: 0 });
  });

  const ticks = fc.record({
    tickMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
    intervalMinutes: fc.integer({ min: 1, max: 100_000 }),
    jitter: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  });
  const windows = fc.integer({ min: 0, max: 7_200 });

  it('is the first one that is not due, a whole number of intervals away', () => {
    fc.assert(
      fc.property(ticks, windows, fc.integer({ min: 0, max: 10 ** 12 }), (tick, windowSeconds, lateMs) => {
        const intervalMs = tick.intervalMinutes * 60_000;
        const spread = spreadMs(tick, windowSeconds);
        const nowMs = tick.tickMs + spread + lateMs;
        const { nextTickMs, missed } = nextTick(tick, nowMs, windowSeconds);
        expect((nextTickMs - tick.tickMs) % intervalMs).toBe(0);
        expect(nextTickMs + spread).toBeGreaterThan(nowMs);
        expect(nextTickMs - intervalMs + spread).toBeLessThanOrEqual(nowMs);
        expect(missed).toBe((nextTickMs - tick.tickMs) / intervalMs - 1);
      }),
    );
  });

  it('does not drift, however late each dispatch is', () => {
    fc.assert(
      fc.property(
        ticks,
        windows,
        fc.array(fc.integer({ min: 0, max: HOUR_MS * 50 })),
        (tick, windowSeconds, delays) => {
          let tickMs = tick.tickMs;
          for (const delayMs of delays) {
            const nowMs = tickMs + spreadMs(tick, windowSeconds) + delayMs;
            tickMs = nextTick({ ...tick, tickMs }, nowMs, windowSeconds).nextTickMs;
          }
          expect((tickMs - tick.tickMs) % (tick.intervalMinutes * 60_000)).toBe(0);
        },
      ),
    );
  });
});

describe('the spread of watches with one tick', () => {
  it.each([
    ['no window', 60, 0.9, 0, 0],
    ['the start of the window', 60, 0, 600, 0],
    ['the middle of the window', 60, 0.5, 600, 300_000],
    ['a window longer than the interval', 15, 0.5, 3600, 450_000],
  ])('in %s', (_, intervalMinutes, jitter, windowSeconds, expectedMs) => {
    expect(spreadMs({ intervalMinutes, jitter }, windowSeconds)).toBe(expectedMs);
  });

  it('stays below the window and below the interval', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1, max: 7_200 }),
        (intervalMinutes, jitter, windowSeconds) => {
          const spread = spreadMs({ intervalMinutes, jitter }, windowSeconds);
          expect(spread).toBeGreaterThanOrEqual(0);
          expect(spread).toBeLessThan(Math.min(windowSeconds * 1000, intervalMinutes * 60_000));
        },
      ),
    );
  });
});
