import { expect, it } from '@jest/globals';
import { createLines } from './lines.ts';

it('lets so many of an account in at once, and the others in their order as those leave', async () => {
  const lines = createLines(2);
  const inside: string[] = [];
  const come = async (accountId: string, name: string): Promise<void> => {
    await lines.enter(accountId);
    inside.push(name);
  };
  const first = ['a1', 'a2', 'a3', 'a4'].map((name) => come('a', name));
  await Promise.all(first.slice(0, 2));
  await come('b', 'b1');
  expect(inside).toEqual(['a1', 'a2', 'b1']);
  lines.leave('a');
  await first[2];
  expect(inside).toEqual(['a1', 'a2', 'b1', 'a3']);
  for (let count = 0; count < 3; count += 1) lines.leave('a');
  await first[3];
  await Promise.all([come('a', 'a5'), come('a', 'a6')]);
  expect(inside.slice(4)).toEqual(['a4', 'a5', 'a6']);
});
