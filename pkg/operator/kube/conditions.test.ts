import { describe, expect, it } from '@jest/globals';
import { conditionOf, setConditions, type Condition } from './conditions.ts';
import { shorten } from './text.ts';

const early = { generation: 1, nowMs: Date.parse('2026-01-01T10:00:00.123Z') };
const late = { generation: 2, nowMs: Date.parse('2026-01-01T11:00:00.456Z') };
const ready = { type: 'Ready', status: 'True', reason: 'AllIsWell', message: 'Nothing to do' } as const;
const before: readonly Condition[] = setConditions(undefined, [ready], early);

describe('conditions', () => {
  it('say since when, in whole seconds, and of which generation', () => {
    expect(before).toEqual([{ ...ready, lastTransitionTime: '2026-01-01T10:00:00Z', observedGeneration: 1 }]);
  });

  it('keep their time while the status stays, whatever else changes', () => {
    const [after] = setConditions(before, [{ ...ready, reason: 'Other', message: 'Other words' }], late);
    expect(after).toMatchObject({
      reason: 'Other',
      message: 'Other words',
      lastTransitionTime: '2026-01-01T10:00:00Z',
      observedGeneration: 2,
    });
  });

  it('get a new time when the status changes', () => {
    const [after] = setConditions(before, [{ ...ready, status: 'Unknown' }], late);
    expect(after?.lastTransitionTime).toBe('2026-01-01T11:00:00Z');
  });

  it('of others stay as and where they are', () => {
    const other = { type: 'Degraded', status: 'False', reason: 'No', message: '' } as const;
    const both = setConditions(before, [other], late);
    expect(both.map(({ type }) => type)).toEqual(['Ready', 'Degraded']);
    expect(both[0]).toBe(before[0]);
  });

  it('are found by type', () => {
    expect(conditionOf(before, 'Ready')).toBe(before[0]);
    expect(conditionOf(before, 'Degraded')).toBeUndefined();
    expect(conditionOf(undefined, 'Ready')).toBeUndefined();
  });

  it('have messages that fit the schema and hold no half character', () => {
    const [after] = setConditions([], [{ ...ready, message: 'x'.repeat(40_000) }], early);
    expect(Buffer.byteLength(after?.message ?? '')).toBe(3_000);
    expect(shorten('ab😀cd', 7)).toBe('ab…');
    expect(shorten('ab😀cd', 8)).toBe('ab😀cd');
  });
});
