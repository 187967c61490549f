import { describe, expect, it } from '@jest/globals';
import { gather } from './gather.ts';

describe('gather', () => {
  /** Doubles numbers, a group at a time; each group waits until it is let go. */
  function openDoubler(most = 100) {
    const groups: (readonly number[])[] = [];
    const gates: (() => void)[] = [];
    const double = gather(
      async (numbers: readonly number[]) => {
        groups.push(numbers);
        await new Promise<void>((resolve) => gates.push(resolve));
        if (numbers.includes(13)) throw new Error('unlucky');
        return numbers.map((number) => 2 * number);
      },
      { most },
    );
    const letGo = async (): Promise<void> => {
      gates.shift()?.();
      await new Promise(setImmediate);
    };
    return { groups, double, letGo };
  }

  it('answers a lone question at once, and what comes meanwhile as one group', async () => {
    const { groups, double, letGo } = openDoubler();
    const asked = [1, 2, 3].map((number) => double(number));
    expect(groups).toEqual([[1]]);
    await letGo();
    expect(groups).toEqual([[1], [2, 3]]);
    await letGo();
    expect(await Promise.all(asked)).toEqual([2, 4, 6]);
  });

  it('makes no group larger than it may be', async () => {
    const { groups, double, letGo } = openDoubler(2);
    const asked = [1, 2, 3, 4].map((number) => double(number));
    await letGo();
    await letGo();
    await letGo();
    expect(await Promise.all(asked)).toEqual([2, 4, 6, 8]);
    expect(groups).toEqual([[1], [2, 3], [4]]);
  });

  it('gathers also while it rests', async () => {
    const groups: (readonly number[])[] = [];
    const same = gather(
      (numbers: readonly number[]) => {
        groups.push(numbers);
        return Promise.resolve(numbers);
      },
      { restMs: 50 },
    );
    await same(1);
    await Promise.all([same(2), new Promise(setImmediate).then(() => same(3))]);
    expect(groups).toEqual([[1], [2, 3]]);
  });

  it('fails those of a group that fails, and goes on with the next', async () => {
    const { double, letGo } = openDoubler();
    const unlucky = double(13).catch(String);
    const next = double(1);
    await letGo();
    await letGo();
    expect(await unlucky).toBe('Error: unlucky');
    expect(await next).toBe(2);
  });

  it('fails a group that gets fewer answers than it has questions', async () => {
    const forgetful = gather(() => Promise.resolve<number[]>([]));
    await expect(forgetful(1)).rejects.toThrow('0 answers to 1 questions');
  });
});
