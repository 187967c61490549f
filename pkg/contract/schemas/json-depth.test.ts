import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jsonDepthExceeds } from './json-depth.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the depth of JSON text', () => {
  it.each<[string, string, boolean]>([
    ['32 arrays', '['.repeat(32) + ']'.repeat(32), false],
    ['33 arrays', '['.repeat(33) + ']'.repeat(33), true],
    ['32 objects', '{"a":'.repeat(32) + '1' + '}'.repeat(32), false],
    ['33 objects', '{"a":'.repeat(33) + '1' + '}'.repeat(33), true],
    ['33 of both', '[{"a":'.repeat(17) + '1' + '}]'.repeat(17), true],
    ['many side by side', `[${'[],'.repeat(1000)}[]]`, false],
    ['brackets in a string', JSON.stringify('['.repeat(100)), false],
    ['brackets after an escaped quote', JSON.stringify(`"${'['.repeat(100)}`), false],
    ['brackets after an escaped backslash', `["\\\\",${'['.repeat(33)}`, true],
    ['a string left open', `"${'['.repeat(100)}`, false],
    ['nothing', '', false],
    ['a million brackets', '['.repeat(1_000_000), true],
  ])('is judged right for %s', (_name, text, exceeds) => {
    expect(jsonDepthExceeds(text, 32)).toBe(exceeds);
  });

  it('is that of the parsed value, for any value and any limit', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 0, max: 7 }), (value, limit) => {
        expect(jsonDepthExceeds(JSON.stringify(value), limit)).toBe(depthOf(value) > limit);
      }),
    );
  });
});
