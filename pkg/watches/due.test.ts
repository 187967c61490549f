import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { groupAccounts, type DueAccount } from './due.ts';

const accounts = (...captures: number[]): DueAccount[] =>
  captures.map((some, at) => ({ accountId: `a${at}`, captures: some }));

describe('accounts that are dispatched together', () => {
  it.each<[string, number[], string[][]]>([
    ['are none when nothing is due', [], []],
    ['are as many as fill a batch', [4, 6, 1], [['a0', 'a1'], ['a2']]],
    ['do not include one that alone is more than a batch', [3, 12, 3], [['a0'], ['a1'], ['a2']]],
  ])('%s', (_, captures, groups) => {
    expect(groupAccounts(accounts(...captures), 10)).toEqual(groups);
  });

  it('keep their order, are never left out, and are never more than a batch unless one alone is', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 60 }), (captures) => {
        const groups = groupAccounts(accounts(...captures), 10);
        expect(groups.flat()).toEqual(accounts(...captures).map(({ accountId }) => accountId));
        const capturesOf = (accountId: string): number => captures[Number(accountId.slice(1))] ?? 0;
        for (const group of groups)
          expect(group.length === 1 || group.reduce((sum, id) => sum + capturesOf(id), 0) <= 10).toBe(true);
      }),
    );
  });
});
