import { expect, it } from '@jest/globals';
import { pauseSeconds } from './refusals.ts';

it.each([
  [0, 0],
  [2, 0],
  [3, 15],
  [4, 30],
  [5, 60],
  [8, 480],
  [9, 900],
  [1_000, 900],
])('after %i refusals in a row nobody asks for %i s', (inRow, seconds) => {
  expect(pauseSeconds(inRow)).toBe(seconds);
});
