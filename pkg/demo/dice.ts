import { createHash } from 'node:crypto';

/** Choices that look random and are the same for the same seed. */
export type Dice = {
  /** A whole number from 0, below `sides`. */
  roll(sides: number): number;
  pick(items: readonly string[]): string;
  shuffle(items: readonly string[]): string[];
};

/** Every roll is a hash of the seed and the number of the roll. */
export function createDice(seed: string): Dice {
  let rolls = 0;
  const roll = (sides: number): number => {
    rolls += 1;
    return createHash('sha256').update(`${rolls}:${seed}`).digest().readUInt32BE(0) % sides;
  };
  return {
    roll,
    pick: (items) => items[roll(items.length)] ?? '',
    shuffle: (items) =>
      items
        .map((item) => ({ item, order: roll(2 ** 32) }))
        .toSorted((a, b) => a.order - b.order)
        .map(({ item }) => item),
  };
}
