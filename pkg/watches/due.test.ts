import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { groupAccounts, type DueAccount } from './due.ts';

const accounts = (...due: number[]): DueAccount[] => due.map((count, at) => ({ accountId: `a${at}`, due: count }));

describe('accounts that are dispatched together', () => {
  it.each<[string, number[], string[][]]>([
    ['are none when nothing is due', [], []],
    ['are as many as fill a batch', [4, 6, 1], [['a0', 'a1'], ['a2']]],
    ['do not include one that alone is more than a batch', [3, 12, 3], [['a0'], ['a1'], ['a2']]],
  ])('%s', (_, due, groups) => {
    expect(groupAccounts(accounts(...due), 10)).toEqual(groups);
  });

  it('keep their order, are never left out, and are never more than a batch unless one alone is', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 60 }), (due) => {
        const groups = groupAccounts(accounts(...due), 10);
        expect(groups.flat()).toEqual(accounts(...due).map(({ accountId }) => accountId));
        const dueOf = (accountId: string): number => due[Number(accountId.slice(1))] ?? 0;
        for (const group of groups)
          expect(group.length === 1 || group.reduce((sum, id) => sum + dueOf(id), 0) <= 10).toBe(true);
      }),
    );
  });
});
