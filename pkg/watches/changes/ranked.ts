/** One thing of a ranking, in its order. */
export type Ranked<T> = { key: string; item: T };

/** Ranks are from 1. */
export type RankedChange<T> = {
  gained: (T & { rank: number })[];
  lost: (T & { rank: number })[];
  moved: (T & { from: number; to: number })[];
};

/**
 * What was gained, lost and moved between two rankings. Moved are the fewest of those in both that must change their
 * place among each other: one new leader pushes all others down a rank, and moves none of them. Of a key that comes
 * twice, the first counts.
 */
export function compareRankings<T extends object>(
  before: readonly Ranked<T>[],
  after: readonly Ranked<T>[],
): RankedChange<T> {
  const old = rank(before);
  const now = rank(after);
  const common = [...now.entries()].flatMap(([key, { item, rank: to }]) => {
    const from = old.get(key)?.rank;
    return from === undefined ? [] : [{ item, from, to }];
  });
  const stayed = longestIncreasing(common.map(({ from }) => from));
  return {
    gained: listMissing(now, old),
    lost: listMissing(old, now),
    moved: common.filter((_, index) => !stayed.has(index)).map(({ item, from, to }) => ({ ...item, from, to })),
  };
}

type Ranks<T> = Map<string, { item: T; rank: number }>;

function rank<T>(list: readonly Ranked<T>[]): Ranks<T> {
  const ranks: Ranks<T> = new Map();
  for (const { key, item } of list) if (!ranks.has(key)) ranks.set(key, { item, rank: ranks.size + 1 });
  return ranks;
}

function listMissing<T extends object>(from: Ranks<T>, other: Ranks<T>): (T & { rank: number })[] {
  return [...from].filter(([key]) => !other.has(key)).map(([, { item, rank: place }]) => ({ ...item, rank: place }));
}

/** The indexes of a longest increasing subsequence of different numbers, in O(n log n). */
export function longestIncreasing(values: readonly number[]): Set<number> {
  /** At i: the index of the smallest value that ends an increasing subsequence of length i + 1. */
  const ends: number[] = [];
  const previous: (number | undefined)[] = [];
  values.forEach((value, index) => {
    const length = countSmaller(ends, values, value);
    previous[index] = length === 0 ? undefined : ends[length - 1];
    ends[length] = index;
  });
  const chosen = new Set<number>();
  for (let index = ends.at(-1); index !== undefined; index = previous[index]) chosen.add(index);
  return chosen;
}

/** How many of the ascending `ends` stand for a value smaller than this one. */
function countSmaller(ends: readonly number[], values: readonly number[], value: number): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[ends[middle] ?? 0] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
