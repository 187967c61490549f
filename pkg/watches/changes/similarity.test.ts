import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { measureSimilarity } from './similarity.ts';

const word = fc.constantFrom('red', 'blue', 'Grün', '自', '行车', 'จักรยาน', 'дом', '2026');
const text = fc.array(word, { maxLength: 30 }).map((words) => words.join(' '));

describe('the similarity of two texts', () => {
  it.each([
    { before: 'The quick brown fox', after: 'the quick, brown FOX!', similarity: 1 },
    { before: '', after: '', similarity: 1 },
    { before: 'words', after: '', similarity: 0 },
    { before: 'one two three', after: 'four five six', similarity: 0 },
    { before: 'one', after: 'one', similarity: 1 },
    { before: 'one two three four', after: 'one two three five', similarity: 0.6 },
    { before: '自行车很好', after: '自行车不好', similarity: 0.6667 },
    { before: 'ﬁne', after: 'fine', similarity: 1 },
  ])('$before and $after: $similarity', ({ before, after, similarity }) => {
    expect(measureSimilarity(before, after)).toBe(similarity);
  });

  it('is the same from both sides, from 0 to 1, and 1 of a text and itself', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.string()), fc.oneof(text, fc.string()), (a, b) => {
        const similarity = measureSimilarity(a, b);
        expect(measureSimilarity(b, a)).toBe(similarity);
        expect(similarity).toBeGreaterThanOrEqual(0);
        expect(similarity).toBeLessThanOrEqual(1);
        expect(measureSimilarity(a, a)).toBe(1);
      }),
    );
  });

  it('counts a sentence that moved as little, and shuffled words as much', () => {
    const [first, second] = ['the red bicycle is the best for the city', 'most testers would buy it again'];
    const moved = measureSimilarity(`${first} ${second}`, `${second} ${first}`);
    const shuffled = measureSimilarity(first, first.split(' ').reverse().join(' '));
    expect(moved).toBeGreaterThan(0.75);
    expect(shuffled).toBeLessThan(0.3);
  });

  it('of texts of a megabyte takes no long time', () => {
    const long = Array.from({ length: 150_000 }, (_, index) => `word${index % 5_000}`).join(' ');
    const startedMs = performance.now();
    expect(measureSimilarity(long, `${long} more`)).toBeGreaterThan(0.99);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});
