import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SURFACES } from '../surfaces.ts';
import { fingerprint } from './fingerprint.ts';
import { parseSearchBody } from './search.ts';

const BODY = {
  query: 'x',
  surfaces: ['engine_news', 'assistant_one'],
  regions: [{ country: 'US', city: 'Austin' }, { country: 'DE' }],
  webhook: { url: 'https://a.example', secret: 's' },
};
const hash = (body: object) => fingerprint(parseSearchBody(body)).toString('hex');

describe('the fingerprint of a search', () => {
  it.each<[string, object]>([
    ['another idempotency key', { ...BODY, idempotencyKey: 'k' }],
    ['prompt for query', { prompt: 'x', surfaces: BODY.surfaces, regions: BODY.regions, webhook: BODY.webhook }],
    ['defaults spelled out', { ...BODY, extract: false, include: { html: false } }],
    ['markdown asked for', { ...BODY, include: { markdown: true } }],
    ['a surface repeated', { ...BODY, surfaces: ['engine_news', 'assistant_one', 'engine_news'] }],
    ['sugar for a region', { ...BODY, regions: [{ city: 'Austin', country: 'us' }, 'de'] }],
  ])('is the same with %s', (_name, body) => {
    expect(hash(body)).toBe(hash(BODY));
  });

  it.each<[string, object, object]>([
    ['extract true and {}', { extract: true }, { extract: {} }],
    ['country and regions', { country: 'us' }, { regions: [{ country: 'US' }] }],
    ['no regions and an empty array', {}, { regions: [] }],
  ])('is the same for %s', (_name, a, b) => {
    const base = { query: 'x', surfaces: ['engine_news'] };
    expect(hash({ ...base, ...a })).toBe(hash({ ...base, ...b }));
  });

  it('is the same for an alias path and the surface in the body', () => {
    const alias = fingerprint(parseSearchBody({ query: 'x' }, { surface: 'engine_news' }));
    expect(alias).toEqual(fingerprint(parseSearchBody({ query: 'x', surfaces: ['engine_news'] })));
  });

  it.each<[string, object]>([
    ['the query', { query: 'x ' }],
    ['the order of surfaces', { surfaces: ['assistant_one', 'engine_news'] }],
    ['the order of regions', { regions: [{ country: 'DE' }, { country: 'US', city: 'Austin' }] }],
    ['a region field', { regions: [{ country: 'US', city: 'Austin', state: 'TX' }, { country: 'DE' }] }],
    ['the webhook url', { webhook: { url: 'https://b.example', secret: 's' } }],
    ['the webhook secret', { webhook: { url: 'https://a.example', secret: 't' } }],
    ['no webhook secret', { webhook: { url: 'https://a.example' } }],
    ['no webhook', { webhook: undefined }],
    ['extraction', { extract: true }],
    ['targets', { extract: { targets: ['Acme'] } }],
    ['the proof page', { include: { html: true } }],
  ])('changes with %s', (_name, change) => {
    expect(hash({ ...BODY, ...change })).not.toBe(hash(BODY));
  });

  it('has 32 bytes and depends on nothing but content, in any order of keys', () => {
    const body = fc.record({
      query: fc.string({ minLength: 1 }).map((text) => `q${text}`),
      surfaces: fc.uniqueArray(fc.constantFrom(...SURFACES), { minLength: 1 }),
      extract: fc.boolean(),
      country: fc.constantFrom('us', 'DE'),
    });
    fc.assert(
      fc.property(body, (fields) => {
        const reversed = Object.fromEntries(Object.entries(fields).reverse());
        expect(fingerprint(parseSearchBody(reversed))).toEqual(fingerprint(parseSearchBody(fields)));
        expect(fingerprint(parseSearchBody(fields))).toHaveLength(32);
      }),
    );
  });

  it('is the same for a request whose own keys stand in another order', () => {
    const request = parseSearchBody(BODY);
    const reordered = { ...request, regions: request.regions.map(({ country, ...rest }) => ({ ...rest, country })) };
    expect(fingerprint(reordered)).toEqual(fingerprint(request));
  });
});
