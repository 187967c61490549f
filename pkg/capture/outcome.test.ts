import { describe, expect, it } from '@jest/globals';
import { judge, type Outcome } from './outcome.ts';

describe('an outcome', () => {
  it.each<[Outcome, string, string | null, boolean, boolean]>([
    ['completed', 'completed', null, true, false],
    ['partial', 'partial', null, false, false],
    ['absent', 'completed', null, false, false],
    ['empty', 'failed', 'EMPTY_ANSWER', false, false],
    ['blocked', 'failed', 'ACQUISITION_FAILED', false, false],
    ['timeout', 'failed', 'SURFACE_TIMEOUT', false, false],
    ['crashed', 'failed', 'ACQUISITION_FAILED', false, true],
    ['unusable', 'failed', 'UPSTREAM_BAD_GATEWAY', false, true],
    ['canceled', 'canceled', 'REQUEST_CANCELED', false, false],
  ])('%s of an assistant ends as %s with %s, billed %s, retried %s', (outcome, state, code, billed, retryable) => {
    expect(judge('assistant_one', outcome)).toEqual({ state, code, billed, retryable });
  });

  it('empty of an engine is an absence, not an error', () => {
    expect(judge('engine_ai_overview', 'empty')).toEqual(judge('engine_ai_overview', 'absent'));
  });
});
