import { describe, expect, it } from '@jest/globals';
import { childSignal, jitter, wait } from './time.ts';
import { holdTimers } from './timers-for-tests.ts';

describe('time', () => {
  it.each([
    { random: 0, delayMs: 80 },
    { random: 0.5, delayMs: 100 },
    { random: 1, delayMs: 120 },
  ])('jitter makes 100 ms $delayMs ms when the draw is $random', ({ random, delayMs }) => {
    expect(jitter(100, 0.2, () => random)).toBeCloseTo(delayMs);
  });

  it('a wait ends at its time, or at once when it is aborted', async () => {
    const timers = holdTimers();
    const stop = new AbortController();
    const ended: string[] = [];
    const waits = [
      wait(100, new AbortController().signal, timers).then(() => ended.push('timed')),
      wait(1_000_000, stop.signal, timers).then(() => ended.push('aborted')),
      wait(1_000_000, AbortSignal.abort(), timers).then(() => ended.push('was aborted')),
    ];
    stop.abort();
    await Promise.all(waits.slice(1));
    timers.advance(100);
    await Promise.all(waits);
    expect(ended.sort()).toEqual(['aborted', 'timed', 'was aborted']);
  });

  it('a child signal follows its parent until it is released', () => {
    const parent = new AbortController();
    const [held, released] = [childSignal(parent.signal), childSignal(parent.signal)];
    released.release();
    parent.abort(new Error('over'));
    expect(held.signal.reason).toEqual(new Error('over'));
    expect(released.signal.aborted).toBe(false);
    expect(childSignal(parent.signal).signal.aborted).toBe(true);
  });
});
