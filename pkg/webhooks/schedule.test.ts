import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nextPauseMs, parseRetryAfter } from './schedule.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;
const inTheMiddle = (): number => 0.5;

describe('nextPauseMs', () => {
  it.each([
    { attempts: 1, pauseMs: 5 * SECOND },
    { attempts: 2, pauseMs: 30 * SECOND },
    { attempts: 3, pauseMs: 300 * SECOND },
    { attempts: 4, pauseMs: 1_800 * SECOND },
    { attempts: 5, pauseMs: 2 * HOUR },
    { attempts: 6, pauseMs: 5 * HOUR },
    { attempts: 7, pauseMs: 10 * HOUR },
    { attempts: 8, pauseMs: 14 * HOUR },
    { attempts: 9, pauseMs: 20 * HOUR },
    { attempts: 10, pauseMs: null },
    { attempts: 11, pauseMs: null },
  ])('is $pauseMs ms after attempt $attempts', ({ attempts, pauseMs }) => {
    expect(nextPauseMs({ attempts, random: inTheMiddle, retryAfterMs: undefined })).toBe(pauseMs);
  });

  it('strays by at most 20 %', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (value) => {
        const pauseMs = nextPauseMs({ attempts: 2, random: () => value, retryAfterMs: undefined });
        expect(pauseMs).toBeGreaterThanOrEqual(24 * SECOND);
        expect(pauseMs).toBeLessThanOrEqual(36 * SECOND);
      }),
    );
  });

  it.each([
    { hint: 'longer than the pause', attempts: 1, retryAfterMs: 60 * SECOND, pauseMs: 60 * SECOND },
    { hint: 'shorter than the pause', attempts: 2, retryAfterMs: SECOND, pauseMs: 30 * SECOND },
    { hint: 'absurdly long', attempts: 1, retryAfterMs: 1e12, pauseMs: 10 * HOUR },
    { hint: 'absurdly long late in the schedule', attempts: 9, retryAfterMs: 1e12, pauseMs: 20 * HOUR },
  ])('follows a hint that is $hint', ({ attempts, retryAfterMs, pauseMs }) => {
    expect(nextPauseMs({ attempts, random: inTheMiddle, retryAfterMs })).toBe(pauseMs);
  });
});

describe('parseRetryAfter', () => {
  const nowMs = Date.parse('2026-03-01T12:00:00Z');

  it.each([
    { header: '120', ms: 120_000 },
    { header: '0', ms: 0 },
    { header: '1000000000', ms: 1e12 },
    { header: 'Sun, 01 Mar 2026 12:01:00 GMT', ms: 60_000 },
    { header: 'Sun, 01 Mar 2026 11:00:00 GMT', ms: 0 },
    { header: 'Sun, 99 Mar 2026 11:00:00 GMT', ms: undefined },
    { header: '-1', ms: undefined },
    { header: '1e9', ms: undefined },
    { header: '1.5', ms: undefined },
    { header: 'soon', ms: undefined },
    { header: '', ms: undefined },
    { header: undefined, ms: undefined },
  ])('reads $header as $ms', ({ header, ms }) => {
    expect(parseRetryAfter(header, nowMs)).toBe(ms);
  });
});
