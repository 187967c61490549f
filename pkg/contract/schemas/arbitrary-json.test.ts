import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ServiceError } from '../errors.ts';
import { parseBatchBody, parseSearchBody } from './search.ts';

describe('whatever JSON comes', () => {
  const names = [
    'query',
    'prompt',
    'surfaces',
    'regions',
    'region',
    'country',
    'webhook',
    'extract',
    'include',
    'items',
  ];
  const key = fc.oneof(
    fc.constantFrom(...names, 'url', 'targets', '__proto__', 'toString', '__isYupRef', 'length'),
    fc.string(),
  );
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, 0, -1, 1e308, '', 'x', 'US', 'engine_news', 'https://a.example', '\0', '\ud800'),
      fc.array(tie('json'), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie('json')), { maxLength: 6 }).map((entries): unknown => JSON.parse(toJson(entries))),
    ),
  }));

  it('is accepted or refused with a ServiceError, and leaves prototypes alone', () => {
    fc.assert(
      fc.property(json, (body) => {
        for (const parse of [
          () => parseSearchBody(body),
          () => parseSearchBody(body, { surface: 'engine_news' }),
          () => parseBatchBody(body),
        ]) {
          try {
            parse();
          } catch (error) {
            expect(error).toBeInstanceOf(ServiceError);
          }
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

/** As text, because an object literal can't hold an own `__proto__`. */
function toJson(entries: [string, unknown][]): string {
  return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}
