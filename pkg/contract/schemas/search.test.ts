import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SURFACES } from '../surfaces.ts';
import { parseBatchBody, parseSearchBody } from './search.ts';
import { pathsOf, refusalOf } from './testing.ts';

const BODY = { query: 'best shoes', surfaces: ['engine_search'] };
const DEFAULTS = { regions: [], webhook: null, idempotencyKey: null, extract: null, include: { html: false } };
const parseWith = (extra: object) => parseSearchBody({ ...BODY, ...extra });

describe('a search body', () => {
  it('gets every default filled', () => {
    expect(parseSearchBody(BODY)).toEqual({ ...BODY, ...DEFAULTS });
  });

  it('takes prompt for query', () => {
    expect(parseSearchBody({ prompt: 'best shoes', surfaces: ['engine_search'] })).toEqual({ ...BODY, ...DEFAULTS });
  });

  it('keeps the exact text of the query, white space included', () => {
    expect(parseWith({ query: '  a\n b ' }).query).toBe('  a\n b ');
  });

  it('keeps the order of surfaces and drops repeated ones', () => {
    const surfaces = ['engine_news', 'assistant_one', 'engine_news'];
    expect(parseWith({ surfaces }).surfaces).toEqual(['engine_news', 'assistant_one']);
  });

  it('accepts every surface of the enum, live or not', () => {
    expect(parseWith({ surfaces: SURFACES }).surfaces).toEqual(SURFACES);
  });

  it.each([
    ['true', true, { targets: [] }],
    ['an empty object', {}, { targets: [] }],
    ['false', false, null],
    ['no targets', { targets: [] }, { targets: [] }],
    ['targets', { targets: ['Acme', 'acme.com'] }, { targets: ['Acme', 'acme.com'] }],
    [
      'ten targets of 100 characters',
      { targets: Array(10).fill('😀'.repeat(100)) },
      { targets: Array(10).fill('😀'.repeat(100)) },
    ],
  ])('reads extract: %s', (_name, extract, expected) => {
    expect(parseWith({ extract }).extract).toEqual(expected);
  });

  it.each([
    ['html', { html: true }, { html: true }],
    ['markdown, which changes nothing', { markdown: true }, { html: false }],
    ['both', { markdown: false, html: false }, { html: false }],
    ['neither', {}, { html: false }],
  ])('reads include: %s', (_name, include, expected) => {
    expect(parseWith({ include }).include).toEqual(expected);
  });

  it.each([
    ['without a secret', { url: 'https://a.example/hook' }, { url: 'https://a.example/hook', secret: null }],
    ['with a secret', { url: 'https://a.example', secret: 's' }, { url: 'https://a.example', secret: 's' }],
    [
      'on plain http, which the destination guard judges',
      { url: 'http://127.0.0.1:9/x' },
      { url: 'http://127.0.0.1:9/x', secret: null },
    ],
  ])('reads a webhook %s', (_name, webhook, expected) => {
    expect(parseWith({ webhook }).webhook).toEqual(expected);
  });

  it('takes an idempotency key of 255 characters', () => {
    expect(parseWith({ idempotencyKey: 'k'.repeat(255) }).idempotencyKey).toBe('k'.repeat(255));
  });
});

describe('a search body is VALIDATION_FAILED, naming the field,', () => {
  it.each<[string, object, string]>([
    ['when query is null', { query: null }, 'query'],
    ['when query is a number', { query: 5 }, 'query'],
    ['when query is empty', { query: '' }, 'query'],
    ['when query is only white space', { query: ' \t\n\u00a0\u3000' }, 'query'],
    ['when query is only white space and too long', { query: ' '.repeat(2001) }, 'query'],
    ['when query holds NUL', { query: 'a\0b' }, 'query'],
    ['when query holds a lone surrogate', { query: 'a\ud83d' }, 'query'],
    ['when both query and prompt are sent', { prompt: 'best shoes' }, 'prompt'],
    ['when prompt is null beside query', { prompt: null }, 'prompt'],
    ['when surfaces is missing', { surfaces: undefined }, 'surfaces'],
    ['when surfaces is null', { surfaces: null }, 'surfaces'],
    ['when surfaces is a string', { surfaces: 'engine_search' }, 'surfaces'],
    ['when surfaces is empty', { surfaces: [] }, 'surfaces'],
    ['when surfaces holds a number', { surfaces: ['engine_search', 1] }, 'surfaces[1]'],
    ['when surfaces holds null', { surfaces: [null] }, 'surfaces[0]'],
    ['when surfaces is absurdly long', { surfaces: Array(1001).fill('engine_search') }, 'surfaces'],
    ['when webhook is null', { webhook: null }, 'webhook'],
    ['when webhook is a string', { webhook: 'https://a.example' }, 'webhook'],
    ['when webhook has no url', { webhook: {} }, 'webhook.url'],
    ['when webhook.url is null', { webhook: { url: null } }, 'webhook.url'],
    ['when webhook.url is relative', { webhook: { url: '/hook' } }, 'webhook.url'],
    ['when webhook.url has no host', { webhook: { url: 'https://' } }, 'webhook.url'],
    ['when webhook.url lacks its slashes', { webhook: { url: 'https:a.example' } }, 'webhook.url'],
    ['when webhook.url has another scheme', { webhook: { url: 'ftp://a.example' } }, 'webhook.url'],
    ['when webhook.url has white space around', { webhook: { url: ' https://a.example' } }, 'webhook.url'],
    ['when webhook.url has a line break within', { webhook: { url: 'https://a.example/\nx' } }, 'webhook.url'],
    ['when webhook.url holds a backslash', { webhook: { url: 'https://a.example\\@127.0.0.1/' } }, 'webhook.url'],
    ['when webhook.url is too long', { webhook: { url: `https://a.example/${'x'.repeat(2048)}` } }, 'webhook.url'],
    ['when webhook.secret is null', { webhook: { url: 'https://a.example', secret: null } }, 'webhook.secret'],
    ['when webhook.secret is empty', { webhook: { url: 'https://a.example', secret: '' } }, 'webhook.secret'],
    [
      'when webhook.secret is too long',
      { webhook: { url: 'https://a.example', secret: 's'.repeat(256) } },
      'webhook.secret',
    ],
    ['when webhook.secret holds NUL', { webhook: { url: 'https://a.example', secret: '\0' } }, 'webhook.secret'],
    ['when webhook has an unknown field', { webhook: { url: 'https://a.example', method: 'PUT' } }, 'webhook.method'],
    ['when idempotencyKey is null', { idempotencyKey: null }, 'idempotencyKey'],
    ['when idempotencyKey is empty', { idempotencyKey: '' }, 'idempotencyKey'],
    ['when idempotencyKey is too long', { idempotencyKey: 'k'.repeat(256) }, 'idempotencyKey'],
    ['when idempotencyKey is a number', { idempotencyKey: 1 }, 'idempotencyKey'],
    ['when extract is null', { extract: null }, 'extract'],
    ['when extract is a string', { extract: 'true' }, 'extract'],
    ['when extract is an array', { extract: ['Acme'] }, 'extract'],
    ['when extract has an unknown field', { extract: { target: 'Acme' } }, 'extract.target'],
    ['when extract.targets is null', { extract: { targets: null } }, 'extract.targets'],
    ['when extract.targets is a string', { extract: { targets: 'Acme' } }, 'extract.targets'],
    ['when there are eleven targets', { extract: { targets: Array(11).fill('a') } }, 'extract.targets'],
    ['when a target is blank', { extract: { targets: ['a', ' '] } }, 'extract.targets[1]'],
    ['when a target has 101 characters', { extract: { targets: ['a'.repeat(101)] } }, 'extract.targets[0]'],
    ['when a target is null', { extract: { targets: [null] } }, 'extract.targets[0]'],
    ['when include is null', { include: null }, 'include'],
    ['when include is an array', { include: ['html'] }, 'include'],
    ['when include has an unknown key', { include: { pdf: true } }, 'include.pdf'],
    ['when include.html is a string', { include: { html: 'true' } }, 'include.html'],
    ['when include.markdown is null', { include: { markdown: null } }, 'include.markdown'],
    ['when an unknown field is sent', { querry: 'x' }, 'querry'],
    ['when an unknown field is null', { foo: null }, 'foo'],
  ])('%s', (_name, extra, path) => {
    const error = refusalOf(() => parseWith(extra));
    expect([error.code, error.details?.map((issue) => issue.path)]).toEqual(['VALIDATION_FAILED', [path]]);
    expect(error.message).toContain(path);
    expect(error.details?.[0]?.message).toContain(path);
  });

  it.each([undefined, null, 'text', 5, true, [], [BODY]])('when it is %j and not an object', (body) => {
    expect(refusalOf(() => parseSearchBody(body)).code).toBe('VALIDATION_FAILED');
    expect(pathsOf(() => parseSearchBody(body, { path: 'items[2]' }))).toEqual(['items[2]']);
  });

  it('when it asks nothing', () => {
    expect(pathsOf(() => parseSearchBody({ surfaces: ['engine_news'] }))).toEqual(['query']);
  });

  it('and names all unknown fields at once, at any depth, with what is allowed', () => {
    const error = refusalOf(() =>
      parseWith({ foo: 1, bar: 2, include: { pdf: true }, region: { country: 'US', zip: '1' } }),
    );
    for (const name of ['foo', 'bar', 'include.pdf', 'region.zip']) expect(error.message).toContain(name);
    expect(error.message).toContain('markdown, html');
    expect(error.details?.map(({ path }) => path).sort()).toEqual(['bar', 'foo', 'include.pdf', 'region.zip']);
  });

  it('and puts the place of a batch item before every path', () => {
    const body = { query: 1, surfaces: ['engine_news'], regions: [{ country: 'USA' }], x: 1 };
    const paths = pathsOf(() => parseSearchBody(body, { path: 'items[3]' }));
    expect(paths.sort()).toEqual(['items[3].query', 'items[3].regions[0].country', 'items[3].x']);
  });

  it('for keys that would reach a prototype, which stay clean', () => {
    const body: unknown = JSON.parse(
      '{"query":"x","surfaces":["engine_news"],"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    );
    expect(pathsOf(() => parseSearchBody(body)).sort()).toEqual(['__proto__', 'constructor']);
    expect('polluted' in {}).toBe(false);
  });

  it.each(['__isYupRef', '__isYupSchema__'])(
    "for an object that bears the validation library's own mark %s",
    (mark) => {
      expect(pathsOf(() => parseWith({ query: { [mark]: true } }))).toEqual([`query.${mark}`]);
    },
  );

  it('with a message that quotes a strange name and stays short', () => {
    const error = refusalOf(() => parseWith({ ['${path}\n'.repeat(1000)]: 1 }));
    expect(error.message).not.toContain('\n');
    expect(error.message.length).toBeLessThan(500);
  });

  it('in little time, however long the body', () => {
    const startMs = performance.now();
    refusalOf(() => parseWith({ surfaces: Array(300_000).fill(5) }));
    refusalOf(() => parseWith({ extract: { targets: Array(300_000).fill(5) } }));
    refusalOf(() => parseWith({ regions: Array(300_000).fill(5) }));
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});

describe('faults with a code of their own', () => {
  it.each(['nope', '', 'ENGINE_SEARCH', 'engine_search ', 'constructor'])('%j is an UNSUPPORTED_SURFACE', (surface) => {
    const error = refusalOf(() => parseWith({ surfaces: ['engine_news', surface] }));
    expect(error.code).toBe('UNSUPPORTED_SURFACE');
    expect(error.message).toContain('surfaces[1]');
    expect(error.message).toContain('engine_ai_mode');
  });

  it('a query may have 2000 code points and no more, however many code units they take', () => {
    const character = fc.constantFrom('a', 'é', '日', '😀', '🏳');
    fc.assert(
      fc.property(
        fc.array(character, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1990, max: 2010 }),
        (palette, length) => {
          const query = Array.from({ length }, (_, index) => palette[index % palette.length]).join('');
          if (length <= 2000) expect(parseWith({ query }).query).toBe(query);
          else expect(refusalOf(() => parseWith({ query })).code).toBe('QUERY_TOO_LONG');
        },
      ),
    );
  });

  it('a long prompt is QUERY_TOO_LONG as well, by its own name', () => {
    const error = refusalOf(() => parseSearchBody({ prompt: 'a'.repeat(2001), surfaces: ['engine_news'] }));
    expect([error.code, error.message]).toEqual(['QUERY_TOO_LONG', expect.stringContaining('prompt')]);
  });

  it.each<[string, object, string]>([
    ['form before surface', { surfaces: ['nope'], foo: 1 }, 'VALIDATION_FAILED'],
    ['surface before regions', { surfaces: ['nope'], regions: Array(11).fill('US') }, 'UNSUPPORTED_SURFACE'],
    ['regions before length', { query: 'a'.repeat(2001), regions: Array(11).fill('US') }, 'TOO_MANY_REGIONS'],
    ['form before length', { query: 'a'.repeat(2001), include: { pdf: true } }, 'VALIDATION_FAILED'],
  ])('of several the first is told: %s', (_name, extra, code) => {
    expect(refusalOf(() => parseWith(extra)).code).toBe(code);
  });
});

describe('the body of an alias path', () => {
  it('has the surface of the path', () => {
    expect(parseSearchBody({ prompt: 'x', country: 'de' }, { surface: 'engine_news' })).toEqual({
      ...DEFAULTS,
      query: 'x',
      surfaces: ['engine_news'],
      regions: [{ country: 'DE' }],
    });
  });

  it.each([[['engine_news']], [[]], [null]])('must not name surfaces (%j)', (surfaces) => {
    expect(pathsOf(() => parseSearchBody({ query: 'x', surfaces }, { surface: 'engine_news' }))).toEqual(['surfaces']);
  });
});

describe('a batch body', () => {
  it.each([1, 500])('of %d items is passed on unread', (length) => {
    const items = Array.from({ length }, (_, index) => ({ anything: index }));
    expect(parseBatchBody({ items }).items).toEqual(items);
  });

  it.each<[string, unknown, string]>([
    ['no items', {}, 'items'],
    ['empty items', { items: [] }, 'items'],
    ['null items', { items: null }, 'items'],
    ['an object for items', { items: { 0: BODY } }, 'items'],
    ['501 items', { items: Array(501).fill(BODY) }, 'items'],
    ['a field beside items', { items: [BODY], mode: 'sync' }, 'mode'],
    ['an array', [BODY], ''],
    ['nothing', undefined, ''],
  ])('with %s is VALIDATION_FAILED', (_name, body, path) => {
    expect(pathsOf(() => parseBatchBody(body))).toEqual([path]);
  });
});
