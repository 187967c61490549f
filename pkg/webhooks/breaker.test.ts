import { describe, expect, it } from '@jest/globals';
import { createBreaker, type Breaker } from './breaker.ts';

function setUp(): { breaker: Breaker; advance: (ms: number) => void; fail: (key: string, times: number) => void } {
  let nowMs = 1_000_000;
  const breaker = createBreaker({
    clock: { nowMs: () => nowMs },
    threshold: 3,
    openMs: 10_000,
    longestOpenMs: 35_000,
    probeMs: 60_000,
  });
  return {
    breaker,
    advance: (ms) => (nowMs += ms),
    fail: (key, times) => {
      for (let i = 0; i < times; i += 1) breaker.record(key, false);
    },
  };
}

describe('a breaker', () => {
  it('lets everything through until a destination failed three times in a row', () => {
    const { breaker, fail } = setUp();
    fail('a', 2);
    expect(breaker.admit('a')).toBe(0);
    fail('a', 1);
    expect(breaker.admit('a')).toBe(10_000);
  });

  it('forgets failures after a success', () => {
    const { breaker, fail } = setUp();
    fail('a', 2);
    breaker.record('a', true);
    fail('a', 2);
    expect(breaker.admit('a')).toBe(0);
  });

  it('holds back only the destination that failed', () => {
    const { breaker, fail } = setUp();
    fail('a', 3);
    expect(breaker.admit('b')).toBe(0);
  });

  it('lets one probe through when its time is over, and closes when the probe went well', () => {
    const { breaker, fail, advance } = setUp();
    fail('a', 3);
    advance(10_000);
    expect(breaker.admit('a')).toBe(0);
    expect(breaker.admit('a')).toBeGreaterThan(0);
    breaker.record('a', true);
    expect(breaker.admit('a')).toBe(0);
  });

  it('stays open twice as long after each failed probe, up to its longest time', () => {
    const { breaker, fail, advance } = setUp();
    fail('a', 3);
    const waits = [0, 1, 2].map(() => {
      advance(60_000);
      breaker.admit('a');
      breaker.record('a', false);
      return breaker.admit('a');
    });
    expect(waits).toEqual([20_000, 35_000, 35_000]);
  });

  it('sends another probe when the first never came back', () => {
    const { breaker, fail, advance } = setUp();
    fail('a', 3);
    advance(10_000);
    expect(breaker.admit('a')).toBe(0);
    advance(60_000);
    expect(breaker.admit('a')).toBe(0);
  });
});
