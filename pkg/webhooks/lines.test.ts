import { describe, expect, it } from '@jest/globals';
import { LINE_BEGINS, type DueDelivery } from './due.ts';
import { createLine, isFinished, planReads, takeIn, type Line } from './lines.ts';

const NOW = 1_000_000;
const LATER = { nowMs: NOW, lookAtMs: NOW + 250 };

/** With so many begun since its last read: three times as many may wait, and eight more. */
function makeLine(accountId: string, begun: number, waiting = 0, changes: Partial<Line> = {}): Line {
  const deliveries = Array.from({ length: waiting }, (_, place) => makeDelivery(`${accountId}${place}`));
  const held = new Set(deliveries.map(({ id }) => id));
  return { ...createLine(accountId), leaseEndsMs: NOW + 60_000, begun, waiting: deliveries, held, ...changes };
}

function makeDelivery(id: string): DueDelivery {
  const texts = { accountId: 'a', captureId: 'job_1.engine_news.us', url: 'https://hook.test/', body: '{}' };
  return { id, ...texts, secretCiphertext: null, attempts: 0, version: 0, dueAt: `due ${id}` };
}

const read = (lines: Line[], changes: Partial<Parameters<typeof planReads>[1]> = {}): Record<string, number> => {
  const reads = planReads(lines, { nowMs: NOW, room: 1_000, most: 200, ...changes });
  return Object.fromEntries(reads.map(({ accountId, most }) => [accountId, most]));
};

describe('what is read of which line', () => {
  it.each([
    { why: 'a little of a line that was never read', lines: [makeLine('a', 0)], reads: { a: 8 } },
    { why: 'three times what was begun', lines: [makeLine('a', 10)], reads: { a: 38 } },
    { why: 'less what waits still', lines: [makeLine('a', 10, 30)], reads: { a: 8 } },
    { why: 'nothing of a line that takes nothing', lines: [makeLine('a', 0, 8)], reads: {} },
    {
      why: 'an equal part of each, those with the fewest first',
      lines: [makeLine('a', 50, 20), makeLine('b', 50, 0), makeLine('c', 50, 10)],
      reads: { b: 67, c: 67, a: 66 },
    },
    { why: 'nothing without a lease', lines: [makeLine('a', 0, 0, { leaseEndsMs: NOW })], reads: {} },
    {
      why: 'nothing of an exhausted one before its time',
      lines: [makeLine('a', 9, 1, { exhausted: true, lookAtMs: NOW + 1 }), makeLine('b', 0)],
      reads: { b: 8 },
    },
    {
      why: 'an exhausted one in time',
      lines: [makeLine('a', 0, 0, { exhausted: true, lookAtMs: NOW })],
      reads: { a: 8 },
    },
  ])('is $why', ({ lines, reads }) => {
    expect(read(lines)).toEqual(reads);
  });

  it('is less of each the fuller the process is, and never all that there is room for', () => {
    expect(read([makeLine('a', 50)], { room: 40 })).toEqual({ a: 13 });
    expect(read([makeLine('a', 50, 5)], { room: 40 })).toEqual({ a: 8 });
    expect(read([makeLine('a', 50, 5, { running: 8 })], { room: 40 })).toEqual({});
    expect(read([makeLine('a', 0)], { room: 1 })).toEqual({ a: 1 });
    expect(read([makeLine('a', 0)], { room: 0 })).toEqual({});
  });

  it('is at least two of each, as one that has no more is known by it', () => {
    const lines = Array.from({ length: 300 }, (_, place) => makeLine(`a${place}`, 0));
    expect(Object.values(read(lines))).toEqual(Array.from({ length: 100 }, () => 2));
  });

  it('goes on where the last read ended, and begins again at the start each second', () => {
    const line = makeLine('a', 0);
    const placeOf = (nowMs: number) => planReads([line], { nowMs, room: 100, most: 2 })[0]?.after;
    expect(placeOf(NOW)).toBe(LINE_BEGINS);
    takeIn({ line, accountId: 'a', after: LINE_BEGINS, most: 2 }, ['1', '2'].map(makeDelivery), LATER);
    line.waiting = [];
    expect(placeOf(NOW + 999)).toEqual({ dueAt: 'due 2', id: '2' });
    expect(placeOf(NOW + 1_000)).toBe(LINE_BEGINS);
  });

  it('begins at the start also after a read that found all there was', () => {
    const line = makeLine('a', 0);
    takeIn({ line, accountId: 'a', after: LINE_BEGINS, most: 2 }, [makeDelivery('1')], LATER);
    expect(planReads([line], { nowMs: NOW + 250, room: 100, most: 2 })[0]?.after).toBe(LINE_BEGINS);
  });
});

describe('a line', () => {
  it('takes nothing in twice', () => {
    const line = makeLine('a', 0);
    const from = { line, accountId: 'a', after: LINE_BEGINS, most: 2 };
    expect(takeIn(from, ['1', '2'].map(makeDelivery), LATER)).toHaveLength(2);
    expect(takeIn(from, ['2', '3'].map(makeDelivery), LATER)).toEqual([makeDelivery('3')]);
    expect(line.waiting.map(({ id }) => id)).toEqual(['1', '2', '3']);
  });

  it('is finished when there was no more and nothing is held', () => {
    const line = makeLine('a', 0);
    expect(isFinished(line)).toBe(false);
    takeIn({ line, accountId: 'a', after: LINE_BEGINS, most: 2 }, [makeDelivery('1')], LATER);
    expect(isFinished(line)).toBe(false);
    line.held.delete('1');
    expect(isFinished(line)).toBe(true);
  });
});
