import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compareRankings, longestIncreasing, type Ranked } from './ranked.ts';

const rankingOf = (keys: readonly string[]): Ranked<{ name: string }>[] =>
  keys.map((key) => ({ key, item: { name: key } }));
const compare = (before: readonly string[], after: readonly string[]) =>
  compareRankings(rankingOf(before), rankingOf(after));
const namesOf = (list: { name: string }[]): string[] => list.map(({ name }) => name);

const letters = 'abcdefghij'.split('');
const ranking = fc.uniqueArray(fc.constantFrom(...letters), { maxLength: 10 });
const permutation = ranking.chain((keys) =>
  fc.tuple(fc.constant(keys), fc.shuffledSubarray(keys, { minLength: keys.length })),
);

describe('two rankings', () => {
  it.each([
    { what: 'nothing', before: 'abc', after: 'abc', gained: [], lost: [], moved: [] },
    {
      what: 'a new leader pushes down and moves nothing',
      before: 'abc',
      after: 'xabc',
      gained: ['x 1'],
      lost: [],
      moved: [],
    },
    {
      what: 'a lost leader lets others up and moves nothing',
      before: 'abc',
      after: 'bc',
      gained: [],
      lost: ['a 1'],
      moved: [],
    },
    { what: 'the last goes to the top', before: 'abcd', after: 'dabc', gained: [], lost: [], moved: ['d 4>1'] },
    { what: 'all at once', before: 'abcd', after: 'cxab', gained: ['x 2'], lost: ['d 4'], moved: ['c 3>1'] },
    { what: 'from nothing', before: '', after: 'ab', gained: ['a 1', 'b 2'], lost: [], moved: [] },
    { what: 'the first of a double counts', before: 'aab', after: 'ba', gained: [], lost: [], moved: ['b 2>1'] },
  ])('differ by this: $what', ({ before, after, gained, lost, moved }) => {
    const change = compare(before.split(''), after.split(''));
    expect(change.gained.map(({ name, rank }) => `${name} ${rank}`)).toEqual(gained);
    expect(change.lost.map(({ name, rank }) => `${name} ${rank}`)).toEqual(lost);
    // Of two that swapped, which one moved is a matter of taste: it is the one that stands further up.
    expect(change.moved.map(({ name, from, to }) => `${name} ${from}>${to}`)).toEqual(moved);
  });

  it('gain what is only in the later, lose what is only in the earlier, and the other way round', () => {
    fc.assert(
      fc.property(ranking, ranking, (before, after) => {
        const change = compare(before, after);
        expect(namesOf(change.gained)).toEqual(after.filter((key) => !before.includes(key)));
        expect(namesOf(change.lost)).toEqual(before.filter((key) => !after.includes(key)));
        const back = compare(after, before);
        expect([namesOf(back.gained), namesOf(back.lost)]).toEqual([namesOf(change.lost), namesOf(change.gained)]);
        expect(back.moved.length).toBe(change.moved.length);
      }),
    );
  });

  it('are in the same order once the moved ones are taken out, and no fewer would do', () => {
    fc.assert(
      fc.property(permutation, ([before, after]) => {
        const moved = new Set(namesOf(compare(before, after).moved));
        const rest = (keys: string[]): string[] => keys.filter((key) => !moved.has(key));
        expect(rest(after)).toEqual(rest(before));
        const stays = (keep: string[]): boolean =>
          before.filter((key) => keep.includes(key)).join('') === after.filter((key) => keep.includes(key)).join('');
        const most = subsetsOf(before)
          .filter(stays)
          .reduce((max, keep) => Math.max(max, keep.length), 0);
        expect(moved.size).toBe(before.length - most);
      }),
      { numRuns: 50 },
    );
  });

  it('tell where each moved one was and is', () => {
    fc.assert(
      fc.property(ranking, ranking, (before, after) => {
        for (const { name, from, to } of compare(before, after).moved)
          expect([before[from - 1], after[to - 1]]).toEqual([name, name]);
      }),
    );
  });
});

function subsetsOf(keys: readonly string[]): string[][] {
  return keys.reduce<string[][]>((all, key) => [...all, ...all.map((some) => [...some, key])], [[]]);
}

it('a long ranking takes no long time', () => {
  const values = Array.from({ length: 100_000 }, (_, index) => (index * 7_919) % 100_003);
  const startedMs = performance.now();
  expect(longestIncreasing(values).size).toBeGreaterThan(100);
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});
