import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { childId } from '../ids.ts';
import { regionKey, sameRegion, type Region } from '../regions.ts';
import { ServiceError } from '../errors.ts';
import { parseSearchBody } from './search.ts';
import { pathsOf, refusalOf } from './testing.ts';

const parseRegions = (fields: object) => parseSearchBody({ query: 'x', surfaces: ['engine_news'], ...fields }).regions;

describe('regions', () => {
  it.each<[string, object, Region[]]>([
    ['nothing', {}, []],
    ['an empty array', { regions: [] }, []],
    ['one code', { regions: 'us' }, [{ country: 'US' }]],
    ['an array of codes', { regions: ['us', 'DE'] }, [{ country: 'US' }, { country: 'DE' }]],
    [
      'codes and objects',
      { regions: ['us', { country: 'de', city: 'Berlin' }] },
      [{ country: 'US' }, { country: 'DE', city: 'Berlin' }],
    ],
    ['region as a code', { region: 'fr' }, [{ country: 'FR' }]],
    ['region as an object', { region: { country: 'fr', language: 'fr-FR' } }, [{ country: 'FR', language: 'fr-FR' }]],
    ['flat country', { country: 'fr' }, [{ country: 'FR' }]],
    ['a code without a country behind it', { country: 'zz' }, [{ country: 'ZZ' }]],
    [
      'duplicates, which collapse',
      { regions: ['US', 'us', { country: 'US' }, 'DE'] },
      [{ country: 'US' }, { country: 'DE' }],
    ],
    [
      'languages that differ in letter case, which are one',
      {
        regions: [
          { country: 'DE', language: 'de-de' },
          { country: 'DE', language: 'de-DE' },
        ],
      },
      [{ country: 'DE', language: 'de-DE' }],
    ],
    [
      'a language the runtime knows by a newer name, as it was sent',
      { region: { country: 'IL', language: 'iw' } },
      [{ country: 'IL', language: 'iw' }],
    ],
    [
      'ten regions',
      { regions: ['US', 'DE', 'FR', 'ES', 'IT', 'NL', 'SE', 'PL', 'CA', 'AU'] },
      ['US', 'DE', 'FR', 'ES', 'IT', 'NL', 'SE', 'PL', 'CA', 'AU'].map((country) => ({ country })),
    ],
  ])('may be given as %s', (_name, fields, expected) => {
    expect(parseRegions(fields)).toEqual(expected);
  });

  it.each<[string, object, string]>([
    ['regions is null', { regions: null }, 'regions'],
    ['regions is an object', { regions: { country: 'US' } }, 'regions'],
    ['regions is an empty string', { regions: '' }, 'regions'],
    ['region is null', { region: null }, 'region'],
    ['region is an array', { region: ['US'] }, 'region'],
    ['country is an object', { country: { country: 'US' } }, 'country'],
    ['country is null', { country: null }, 'country'],
    ['a code has three letters', { regions: ['USA'] }, 'regions[0]'],
    ['a code has a digit', { regions: ['US', 'U1'] }, 'regions[1]'],
    ['a code has letters beyond ASCII', { country: 'ÜS' }, 'country'],
    ['a code has white space', { country: 'US\n' }, 'country'],
    ['an element is null', { regions: [null] }, 'regions[0]'],
    ['an element is a number', { regions: [1] }, 'regions[0]'],
    ['an element is an array', { regions: [['US']] }, 'regions[0]'],
    ['a country is missing', { regions: [{ city: 'Berlin' }] }, 'regions[0].country'],
    ['a country is null', { regions: [{ country: null }] }, 'regions[0].country'],
    ['a city is null', { regions: [{ country: 'DE', city: null }] }, 'regions[0].city'],
    ['a city is blank', { regions: [{ country: 'DE', city: '  ' }] }, 'regions[0].city'],
    ['a city has 101 characters', { regions: [{ country: 'DE', city: 'x'.repeat(101) }] }, 'regions[0].city'],
    ['a city holds NUL', { regions: [{ country: 'DE', city: 'a\0' }] }, 'regions[0].city'],
    ['a city has neither letter nor digit', { regions: [{ country: 'DE', city: '...' }] }, 'regions[0].city'],
    ['a state is a number', { regions: [{ country: 'US', state: 6 }] }, 'regions[0].state'],
    ['a language has an underscore', { region: { country: 'US', language: 'en_US' } }, 'region.language'],
    ['a language is no tag', { region: { country: 'US', language: 'e' } }, 'region.language'],
    ['a language is empty', { region: { country: 'US', language: '' } }, 'region.language'],
    ['a field is unknown', { regions: ['US', { country: 'US', planet: 'earth' }] }, 'regions[1].planet'],
    ['regions and region are sent', { regions: [], region: 'US' }, 'region'],
    ['regions and country are sent', { regions: ['US'], country: 'US' }, 'country'],
    ['region and country are sent', { region: 'US', country: 'US' }, 'country'],
  ])('are VALIDATION_FAILED when %s', (_name, fields, path) => {
    expect(refusalOf(() => parseRegions(fields)).code).toBe('VALIDATION_FAILED');
    expect(pathsOf(() => parseRegions(fields))).toContain(path);
  });

  it.each([
    ['eleven', ['US', 'DE', 'FR', 'ES', 'IT', 'NL', 'SE', 'PL', 'CA', 'AU', 'IN']],
    ['eleven duplicates', Array(11).fill('US')],
    ['eleven that share a key', Array.from({ length: 11 }, (_, index) => ({ country: 'US', state: `S${index}` }))],
    ['absurdly many, whatever they are', Array(5000).fill(null)],
  ])('are TOO_MANY_REGIONS when there are %s', (_name, regions) => {
    expect(refusalOf(() => parseRegions({ regions })).code).toBe('TOO_MANY_REGIONS');
  });

  it.each<[string, Region, Region]>([
    ['state, which the key does not show', { country: 'US', state: 'CA' }, { country: 'US', state: 'NY' }],
    ['a state and none', { country: 'US' }, { country: 'US', state: 'NY' }],
    ['punctuation', { country: 'US', city: 'St. Louis' }, { country: 'US', city: 'St Louis' }],
    ['a city that reads as a language', { country: 'DE', city: 'de' }, { country: 'DE', language: 'de' }],
  ])("that differ only in %s can't stand together", (_name, first, second) => {
    const error = refusalOf(() => parseRegions({ regions: ['FR', first, second] }));
    expect(error.code).toBe('VALIDATION_FAILED');
    expect(error.message).toContain('regions[1]');
    expect(error.message).toContain('regions[2]');
  });
});

describe('region keys', () => {
  const name = fc.oneof(
    fc.constantFrom('St. Louis', 'São Paulo', '東京', 'القاهرة', 'a.b:c', 'İzmir', 'de', '１.２'),
    fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }),
  );
  const region = fc.record(
    {
      country: fc.constantFrom('us', 'US', 'de'),
      state: fc.constantFrom('CA', 'NY'),
      city: name,
      language: fc.constantFrom('de', 'de-DE', 'zh-Hant-TW', 'en-u-ca-gregory'),
    },
    { requiredKeys: ['country'] },
  );

  it('make child ids of exactly three segments, and never one id for two regions', () => {
    fc.assert(
      fc.property(fc.array(region, { minLength: 1, maxLength: 8 }), (regions) => {
        let accepted: Region[];
        try {
          accepted = parseRegions({ regions });
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceError);
          return;
        }
        const ids = accepted.map((one) => childId('job_1', 'engine_news', regionKey(one)));
        for (const id of ids) expect(id.split('.').filter((segment) => segment !== '')).toHaveLength(3);
        for (const id of ids) expect(id.split('.')).toHaveLength(3);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 500 },
    );
  });

  it('show country, city and language in lower case', () => {
    const [only] = parseRegions({ region: { country: 'US', state: 'MO', city: 'St. Louis', language: 'en-us' } });
    expect(regionKey(only ?? null)).toBe('us:st-louis:en-us');
  });

  it('differ wherever two accepted regions differ', () => {
    fc.assert(
      fc.property(region, region, (a, b) => {
        const read = (one: object): Region[] | null => {
          try {
            return parseRegions({ regions: [one] });
          } catch {
            return null;
          }
        };
        const [first, second] = [read(a)?.[0], read(b)?.[0]];
        fc.pre(first !== undefined && second !== undefined && !sameRegion(first, second));
        const together = () => parseRegions({ regions: [a, b] });
        if (regionKey(first) === regionKey(second)) expect(refusalOf(together).code).toBe('VALIDATION_FAILED');
        else expect(together()).toHaveLength(2);
      }),
    );
  });
});
