import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createPace } from './pace.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('has room again as soon as one of the quick ones ends', () => {
  const pace = createPace({ most: 2, slowAfterMs: 10, onRoom: () => undefined });
  const [first] = [pace.begin(), pace.begin()];
  expect(pace.hasRoom()).toBe(false);
  pace.end(first);
  expect(pace.hasRoom()).toBe(true);
});

it('has room again once those that run have proven slow, and is told nothing by their end', () => {
  const onRoom = jest.fn();
  const pace = createPace({ most: 2, slowAfterMs: 10, onRoom });
  const slow = [pace.begin(), pace.begin()];
  pace.waitForRoom();
  pace.waitForRoom();
  jest.advanceTimersByTime(9);
  expect(pace.hasRoom()).toBe(false);
  jest.advanceTimersByTime(1);
  expect(onRoom).toHaveBeenCalledTimes(1);
  expect(pace.hasRoom()).toBe(true);
  pace.begin();
  pace.begin();
  for (const one of slow) pace.end(one);
  expect(pace.hasRoom()).toBe(false);
});

it('calls nobody after it was closed', () => {
  const onRoom = jest.fn();
  const pace = createPace({ most: 1, slowAfterMs: 10, onRoom });
  pace.begin();
  pace.waitForRoom();
  pace.close();
  jest.advanceTimersByTime(100);
  expect(onRoom).not.toHaveBeenCalled();
});
