import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SURFACES } from '../contract/index.ts';
import { chooseMethod, measureSearch, planSearch, type Wanted } from './plan.ts';

const JOB = 'job_01j00000000000000000000000';

describe('the plan of a search', () => {
  it('has one untargeted child for each surface when no region is named', () => {
    const plan = planSearch(JOB, { surfaces: ['assistant_one', 'engine_news'], regions: [] }, () => 3);
    expect(plan.children.map(({ id }) => id)).toEqual([`${JOB}.assistant_one.GLOBAL`, `${JOB}.engine_news.GLOBAL`]);
    expect(plan.creditsToCharge).toBe(6);
  });

  it('has one child for each surface and region, surfaces outermost, at the price of its surface', () => {
    const plan = planSearch(
      JOB,
      {
        surfaces: ['assistant_one', 'engine_news'],
        regions: [{ country: 'DE' }, { country: 'US', city: 'St. Louis' }],
      },
      (surface) => (surface === 'assistant_one' ? 5 : 3),
    );
    expect(
      plan.children.map(({ surface, regionKey, price, position }) => [surface, regionKey, price, position]),
    ).toEqual([
      ['assistant_one', 'de', 5, 0],
      ['assistant_one', 'us:st-louis', 5, 1],
      ['engine_news', 'de', 3, 2],
      ['engine_news', 'us:st-louis', 3, 3],
    ]);
    expect(plan.creditsToCharge).toBe(16);
  });

  it('is measured as it is made', () => {
    const surfaces = fc.subarray([...SURFACES], { minLength: 1 });
    const regions = fc.subarray(['DE', 'US', 'FR'].map((country) => ({ country })));
    fc.assert(
      fc.property(surfaces, regions, fc.nat(9), (asked, from, price) => {
        const search = { surfaces: asked, regions: from };
        const priceOf = (surface: string) => price + surface.length;
        const { children, creditsToCharge } = planSearch(JOB, search, priceOf);
        expect(measureSearch(search, priceOf)).toEqual({ captures: children.length, credits: creditsToCharge });
      }),
    );
  });
});

describe('the mode of a search', () => {
  const plain: Wanted = { mode: null, preferWaitSeconds: null, surfaceCount: 1, hasWebhook: false, alias: false };

  it.each<[string, Partial<Wanted>, 'sync' | 'async']>([
    ['one surface waits', {}, 'sync'],
    ['several surfaces do not', { surfaceCount: 2 }, 'async'],
    ['several surfaces wait when asked to', { surfaceCount: 2, mode: 'sync' }, 'sync'],
    ['several surfaces wait when a wait is preferred', { surfaceCount: 2, preferWaitSeconds: 30 }, 'sync'],
    ['mode=async wins over a preferred wait', { mode: 'async', preferWaitSeconds: 30 }, 'async'],
    ['a webhook wins over mode=sync', { mode: 'sync', hasWebhook: true }, 'async'],
    ['an alias waits', { alias: true }, 'sync'],
    ['an alias does not wait with mode=async', { alias: true, mode: 'async' }, 'async'],
  ])('%s', (_, changes, method) => {
    expect(chooseMethod({ ...plain, ...changes })).toBe(method);
  });
});
