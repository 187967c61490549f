import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SURFACES, type Surface } from '../contract/index.ts';
import type { DueWatch } from './due.ts';
import { judgeRuns, type Facts, type Standing } from './judge.ts';

const LIVE = { live: true, unavailableReason: null, queueSeconds: 900 };
const FACTS: Facts = {
  lanes: new Map<Surface, typeof LIVE>([
    ...SURFACES.map((surface): [Surface, typeof LIVE] => [surface, LIVE]),
    ['assistant_four', { ...LIVE, live: false }],
  ]),
  priceOf: (surface) => (surface === 'engine_news' ? 3 : 5),
  canSign: true,
};
const RICH: Standing = { availableCredits: 1_000, queued: 0, queueCeiling: 1_000 };

function watch(changes: Partial<DueWatch> = {}): DueWatch {
  return {
    id: 'watch_01j00000000000000000000000',
    accountId: 'acct_01j00000000000000000000000',
    query: 'which bicycle is best?',
    surfaces: ['engine_news'],
    regions: [],
    extract: null,
    webhookUrl: null,
    metered: true,
    intervalMinutes: 60,
    creditSkips: 0,
    nextRunAt: new Date(0),
    jitter: 0,
    claimedAt: new Date(0),
    ...changes,
  };
}
const wide = watch({ surfaces: ['assistant_one', 'engine_news'], regions: [{ country: 'DE' }, { country: 'US' }] });
const judge = (due: DueWatch[], standing: Partial<Standing> = {}, facts: Partial<Facts> = {}) =>
  judgeRuns(due, { ...RICH, ...standing }, { ...FACTS, ...facts }).map(({ status, detail }) => [status, detail]);

describe('a tick', () => {
  it.each<[string, DueWatch, Partial<Standing>, Partial<Facts>, string, string]>([
    ['starts what it can', watch(), {}, {}, 'dispatched', 'Started 1 capture for 3 credits.'],
    ['counts each surface and region', wide, {}, {}, 'dispatched', 'Started 4 captures for 16 credits.'],
    ['spends the last credit', wide, { availableCredits: 16 }, {}, 'dispatched', 'Started 4 captures for 16 credits.'],
    [
      'is skipped without credits',
      wide,
      { availableCredits: 15 },
      {},
      'skipped_credits',
      'This run needs 16 credits; 15 were available.',
    ],
    [
      'costs nothing for an internal watch',
      watch({ metered: false }),
      { availableCredits: 0 },
      {},
      'dispatched',
      'Started 1 capture.',
    ],
    ['takes the last room', wide, { queued: 996 }, {}, 'dispatched', 'Started 4 captures for 16 credits.'],
    [
      'is skipped without room',
      wide,
      { queued: 997 },
      {},
      'skipped_limit',
      "997 captures were waiting; with 4 more the plan's ceiling of 1000 would have been exceeded.",
    ],
    ['lacks credits before it lacks room', wide, { availableCredits: 0, queued: 1000 }, {}, 'skipped_credits', ''],
    [
      'fails on a surface that is not live',
      watch({ surfaces: ['engine_news', 'assistant_four'] }),
      { availableCredits: 0 },
      {},
      'failed',
      'assistant_four had no live capture path.',
    ],
    ['fails on a surface without a lane', watch(), {}, { lanes: new Map() }, 'failed', 'engine_news had no live'],
    [
      'fails when its webhook could not be signed',
      watch({ webhookUrl: 'https://a.example/' }),
      {},
      { canSign: false },
      'failed',
      'signing secret',
    ],
    ['needs no secret without a webhook', watch(), {}, { canSign: false }, 'dispatched', ''],
  ])('%s', (_, due, standing, facts, status, words) => {
    const [verdict] = judge([due], standing, facts);
    expect(verdict).toEqual([status, expect.stringContaining(words)]);
  });
});

describe('ticks of one account', () => {
  it('take from one balance, and an expensive one that is skipped leaves it to a cheap one', () => {
    expect(judge([watch(), wide, watch(), watch()], { availableCredits: 7 }).map(([status]) => status)).toEqual([
      'dispatched',
      'skipped_credits',
      'dispatched',
      'skipped_credits',
    ]);
  });

  it('take from one queue', () => {
    expect(judge([watch(), wide, watch(), watch()], { queueCeiling: 2 }).map(([status]) => status)).toEqual([
      'dispatched',
      'skipped_limit',
      'dispatched',
      'skipped_limit',
    ]);
  });

  it('never take more than there is', () => {
    const some = fc.array(fc.record({ surfaces: fc.subarray([...SURFACES], { minLength: 1 }), metered: fc.boolean() }));
    fc.assert(
      fc.property(some, fc.nat(100), fc.nat(50), (shapes, availableCredits, queueCeiling) => {
        const due = shapes.map((shape) => watch(shape));
        const verdicts = judgeRuns(due, { availableCredits, queued: 0, queueCeiling }, FACTS);
        const started = verdicts.filter(({ status }) => status === 'dispatched').map((verdict) => verdict.watch);
        const paid = started.filter(({ metered }) => metered).flatMap(({ surfaces }) => surfaces);
        expect(verdicts.map((verdict) => verdict.watch)).toEqual(due);
        expect(paid.reduce((sum, surface) => sum + FACTS.priceOf(surface), 0)).toBeLessThanOrEqual(availableCredits);
        expect(started.flatMap(({ surfaces }) => surfaces).length).toBeLessThanOrEqual(queueCeiling);
      }),
    );
  });
});
