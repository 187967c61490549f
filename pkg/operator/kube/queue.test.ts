import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createWorkQueue, type WorkQueue } from './queue.ts';
import { holdTimers, type HeldTimers } from './timers-for-tests.ts';

const fixed = { name: 'test', random: () => 0.5 };

function queueOnHeldClock(): { queue: WorkQueue; timers: HeldTimers } {
  const timers = holdTimers();
  return { queue: createWorkQueue({ ...fixed, timers }), timers };
}

describe('a work queue', () => {
  it('gives a key once, however often it was added', async () => {
    const { queue } = queueOnHeldClock();
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    expect([await queue.take(), await queue.take()]).toEqual(['a', 'b']);
    expect(queue.length).toBe(0);
  });

  it('holds back a key that is worked on, and gives it again once it is done', async () => {
    const { queue } = queueOnHeldClock();
    queue.add('a');
    await queue.take();
    queue.add('a');
    queue.add('a');
    expect(queue.length).toBe(0);
    queue.done('a');
    expect(queue.length).toBe(1);
    expect(await queue.take()).toBe('a');
    queue.done('a');
    expect(queue.length).toBe(0);
  });

  it('keeps the earliest of several times', async () => {
    const { queue, timers } = queueOnHeldClock();
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 300);
    queue.addAfter('a', 2_000);
    timers.advance(299);
    expect(queue.length).toBe(0);
    timers.advance(1);
    expect(await queue.take()).toBe('a');
    queue.done('a');
    timers.advance(10_000);
    expect(queue.length).toBe(0);
  });

  it('doubles the wait of a key that keeps failing, up to the most, until it is forgotten', () => {
    const { queue } = queueOnHeldClock();
    const waits = Array.from({ length: 12 }, () => queue.addBackedOff('a'));
    expect(waits.slice(0, 4)).toEqual([200, 400, 800, 1_600]);
    expect(waits.slice(-2)).toEqual([120_000, 120_000]);
    queue.forget('a');
    expect(queue.addBackedOff('a')).toBe(200);
  });

  it('spreads back-offs, so that keys that failed together do not come back together', () => {
    const draws = [0, 0.999];
    const queue = createWorkQueue({ ...fixed, random: () => draws.shift() ?? 0.5, timers: holdTimers() });
    expect([queue.addBackedOff('a'), queue.addBackedOff('b')].map(Math.round)).toEqual([160, 240]);
  });

  it('hands a key to who waits for one', async () => {
    const { queue } = queueOnHeldClock();
    const [first, second] = [queue.take(), queue.take()];
    queue.add('a');
    queue.add('b');
    expect(await Promise.all([first, second])).toEqual(['a', 'b']);
  });

  it('drains: releases who waits, takes nothing more, and waits for what is worked on', async () => {
    const { queue, timers } = queueOnHeldClock();
    queue.add('a');
    await queue.take();
    const waiting = queue.take();
    queue.addAfter('b', 10);
    let isDrained = false;
    const drained = queue.drain().then(() => (isDrained = true));
    expect(await waiting).toBeUndefined();
    queue.add('c');
    queue.add('a');
    timers.advance(1_000);
    expect(await queue.take()).toBeUndefined();
    expect(isDrained).toBe(false);
    queue.done('a');
    await drained;
    expect(await queue.take()).toBeUndefined();
  });

  const key = fc.constantFrom('a', 'b', 'c');
  const step = fc.oneof(
    fc.record({ what: fc.constant('add' as const), key }),
    fc.record({ what: fc.constant('later' as const), key, ms: fc.nat(50) }),
    fc.record({ what: fc.constant('take' as const) }),
    fc.record({ what: fc.constant('done' as const), key }),
    fc.record({ what: fc.constant('pass time' as const), ms: fc.nat(40) }),
  );

  it('does as its model does, whatever happens to it: in order, never one key twice at once, none lost', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { queue, timers } = queueOnHeldClock();
        const waiting: string[] = [];
        const [taken, again] = [new Set<string>(), new Set<string>()];
        const due = new Map<string, number>();
        const add = (name: string): void => {
          if (taken.has(name)) again.add(name);
          else if (!waiting.includes(name)) waiting.push(name);
        };
        const passTime = (ms: number): void => {
          const [startMs, endMs] = [timers.nowMs(), timers.nowMs() + ms];
          for (let atMs = startMs; atMs <= endMs; atMs += 1) {
            timers.advance(atMs - timers.nowMs());
            for (const [name, dueMs] of [...due]) {
              if (dueMs > atMs) continue;
              due.delete(name);
              add(name);
            }
          }
        };
        for (const one of steps) {
          switch (one.what) {
            case 'add':
              queue.add(one.key);
              add(one.key);
              break;
            case 'later':
              queue.addAfter(one.key, one.ms);
              due.set(one.key, Math.min(due.get(one.key) ?? Infinity, timers.nowMs() + one.ms));
              break;
            case 'take':
              if (waiting.length > 0) {
                const got = (await queue.take()) ?? '';
                expect(waiting).toContain(got);
                expect(taken).not.toContain(got);
                waiting.splice(waiting.indexOf(got), 1);
                taken.add(got);
              }
              break;
            case 'done':
              queue.done(one.key);
              if (taken.delete(one.key) && again.delete(one.key)) add(one.key);
              break;
            case 'pass time':
              passTime(one.ms);
              break;
          }
          // Time that stands still owes what falls due now.
          passTime(0);
          expect(queue.length).toBe(waiting.length);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('gives keys first come first served', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.string({ minLength: 1 })), async (keys) => {
        const { queue } = queueOnHeldClock();
        for (const one of keys) queue.add(one);
        const given: (string | undefined)[] = [];
        while (queue.length > 0) given.push(await queue.take());
        expect(given).toEqual(keys);
      }),
    );
  });
});
