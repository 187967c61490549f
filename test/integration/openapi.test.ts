import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { SCOPES } from '../../pkg/accounts/index.ts';
import {
  buildOpenApi,
  DOCUMENTED_METHODS,
  ERRORS,
  parseBatchBody,
  parseSearchBody,
  parseWatchCreate,
  parseWatchUpdate,
  ServiceError,
  SURFACES,
  type OpenApiDocument,
  type Operation,
} from '../../pkg/contract/index.ts';
import { buildDelivery } from '../../pkg/webhooks/index.ts';
import { openKey } from '../support/accounts.ts';
import { createOpenApiChecks } from '../support/openapi.ts';
import { callApi, startService, type TestService } from '../support/service.ts';

const document = buildOpenApi('https://search.example');
const { checkResponse, findFaults } = createOpenApiChecks(document);
const schemaOf = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function readJson(json: string): object {
  const value: unknown = JSON.parse(json);
  if (typeof value !== 'object' || value === null) throw new Error(`no object: ${json.slice(0, 100)}`);
  return value;
}

function operationsOf({ paths, webhooks }: Pick<OpenApiDocument, 'paths' | 'webhooks'>): [string, Operation][] {
  return Object.entries({ ...paths, ...webhooks }).flatMap(([path, item]) =>
    DOCUMENTED_METHODS.flatMap((method): [string, Operation][] => {
      const operation = item[method];
      return operation === undefined ? [] : [[`${method.toUpperCase()} ${path}`, operation]];
    }),
  );
}

const operations = operationsOf(document);

describe('the document', () => {
  it('is OpenAPI 3.1, and every reference in it leads somewhere', async () => {
    const validator = new Validator();
    expect(await validator.validate({ ...readJson(JSON.stringify(document)) })).toMatchObject({ valid: true });
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g);
    const missing = [...references]
      .map(([, name = '']) => name)
      .filter((name) => !(name in document.components.schemas));
    expect(missing).toEqual([]);
  });

  it('is refused by the same validator when it is wrong', async () => {
    const wrong = readJson(JSON.stringify(document).replaceAll('"in":"path"', '"in":"nowhere"'));
    expect(await new Validator().validate({ ...wrong })).toMatchObject({ valid: false });
  });

  it('names every operation once, and every parameter of its path', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [title, { parameters = [] }] of operations) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
      expect(inPath).toEqual([...title.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });

  it('uses every schema that it defines', () => {
    const used = JSON.stringify(document);
    const unused = Object.keys(document.components.schemas).filter(
      (name) => !used.includes(`"#/components/schemas/${name}"`),
    );
    expect(unused).toEqual([]);
  });

  it.each(operations)('has examples that fit: %s', (_, { requestBody, responses }) => {
    const contents = [requestBody?.content ?? {}, ...Object.values(responses).map(({ content = {} }) => content)];
    for (const { schema, examples = {} } of contents.flatMap((content) => Object.values(content)))
      for (const [name, { value }] of Object.entries(examples))
        expect({ name, fault: findFaults(schema, value) }).toEqual({ name, fault: '' });
  });

  it('has every code of the error catalogue but the one that is never sent', () => {
    const shown = new Set(operations.flatMap(([, { responses }]) => codesOf(responses)));
    for (const code of codesOf(document.components.responses)) shown.add(code);
    expect(Object.keys(ERRORS).filter((code) => !shown.has(code))).toEqual(['REGION_UNAVAILABLE']);
  });

  it('describes a webhook delivery as it is built', () => {
    const example = document.webhooks['captureEnded']?.post?.requestBody?.content['application/json']?.examples;
    const sent = readJson(
      buildDelivery({
        eventId: 'evt_01j00000000000000000000000',
        createdAt: '2026-07-01T09:00:00.000Z',
        envelope: ENVELOPE,
      }).body,
    );
    expect(findFaults(schemaOf('Delivery'), sent)).toBe('');
    expect(Object.keys(example?.['completed']?.value ?? {})).toEqual(Object.keys(sent));
  });
});

const ENVELOPE = {
  job: {
    id: 'job_01j00000000000000000000000.engine_ai_mode.GLOBAL',
    status: 'failed' as const,
    warnings: [],
    parentId: 'job_01j00000000000000000000000',
    surface: 'engine_ai_mode' as const,
    query: 'q',
    createdAt: '2026-07-01T09:00:00.000Z',
    startedAt: null,
    completedAt: '2026-07-01T09:00:00.000Z',
    attempts: 0,
    error: { code: 'ACQUISITION_FAILED' as const, error: 'It failed.' },
  },
  provenance: {
    model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
    webSearch: null,
    surfacePresent: false,
    region: { requested: null, effective: null },
    schemaVersion: '2026-06-27',
  },
  answer: { text: '', markdown: '', blocks: [] },
  evidence: {
    sources: [],
    fanOut: { provenance: 'none' as const, queries: [] },
    mentions: null,
    shopping: null,
    ads: null,
  },
  credits: { creditsToCharge: 4, creditsCharged: 0 },
};

function codesOf(responses: Operation['responses']): string[] {
  return Object.values(responses)
    .flatMap(({ content = {} }) => Object.values(content))
    .filter(({ schema }) => schema.$ref === '#/components/schemas/Error')
    .flatMap(({ examples = {} }) => Object.keys(examples));
}

describe('a request body is allowed by the document and by the service alike', () => {
  const fine = { query: 'q', surfaces: ['engine_news'] };
  const watch = { ...fine, schedule: { every: '1h' } };
  const cases: [string, string, unknown, boolean][] = [
    ['SearchBody', 'the least', fine, true],
    ['SearchBody', 'every surface', { query: 'q', surfaces: [...SURFACES] }, true],
    ['SearchBody', 'an unknown surface', { query: 'q', surfaces: ['engine_x'] }, false],
    ['SearchBody', 'no surface', { query: 'q', surfaces: [] }, false],
    ['SearchBody', 'surfaces missing', { query: 'q' }, false],
    ['SearchBody', 'an unknown field', { ...fine, colour: 'red' }, false],
    ['SearchBody', 'an unknown field inside', { ...fine, include: { pdf: true } }, false],
    ['SearchBody', 'null', { ...fine, extract: null }, false],
    ['SearchBody', 'a query of 2000', { ...fine, query: 'x'.repeat(2000) }, true],
    ['SearchBody', 'a query of 2001', { ...fine, query: 'x'.repeat(2001) }, false],
    ['SearchBody', 'ten regions', { ...fine, regions: Array(10).fill('US') }, true],
    ['SearchBody', 'eleven regions', { ...fine, regions: Array(11).fill('US') }, false],
    ['SearchBody', 'one region as a string', { ...fine, regions: 'us' }, true],
    ['SearchBody', 'a region without a country', { ...fine, region: { city: 'Berlin' } }, false],
    ['SearchBody', 'a country of three letters', { ...fine, country: 'USA' }, false],
    ['SearchBody', 'ten targets', { ...fine, extract: { targets: Array(10).fill('a') } }, true],
    ['SearchBody', 'eleven targets', { ...fine, extract: { targets: Array(11).fill('a') } }, false],
    ['SearchBody', 'a target of 100', { ...fine, extract: { targets: ['a'.repeat(100)] } }, true],
    ['SearchBody', 'a target of 101', { ...fine, extract: { targets: ['a'.repeat(101)] } }, false],
    ['SearchBody', 'a city of 101', { ...fine, region: { country: 'US', city: 'a'.repeat(101) } }, false],
    ['SearchBody', 'a key of 255', { ...fine, idempotencyKey: 'k'.repeat(255) }, true],
    ['SearchBody', 'a key with a NUL', { ...fine, idempotencyKey: 'a\u0000' }, false],
    ['SearchBody', 'a key of 256', { ...fine, idempotencyKey: 'k'.repeat(256) }, false],
    ['SearchBody', 'query and prompt', { ...fine, prompt: 'q' }, false],
    ['SearchBody', 'neither query nor prompt', { surfaces: ['engine_news'] }, false],
    ['SearchBody', 'a blank query', { ...fine, query: ' \t' }, false],
    ['SearchBody', 'a query with a NUL', { ...fine, query: 'a\u0000b' }, false],
    ['SearchBody', 'a query of two lines', { ...fine, query: 'a\nb' }, true],
    ['SearchBody', 'region and country', { ...fine, region: 'US', country: 'DE' }, false],
    ['SearchBody', 'regions and region', { ...fine, regions: ['US'], region: 'DE' }, false],
    ['SearchBody', 'a city in another script', { ...fine, region: { country: 'JP', city: '東京' } }, true],
    ['SearchBody', 'a city without a letter', { ...fine, region: { country: 'US', city: '--' } }, false],
    ['SearchBody', 'a language', { ...fine, region: { country: 'CN', language: 'zh-Hans-CN' } }, true],
    ['SearchBody', 'no language', { ...fine, region: { country: 'CN', language: 'german!' } }, false],
    ['SearchBody', 'a webhook', { ...fine, webhook: { url: 'https://a.example/x?y=1' } }, true],
    ['SearchBody', 'a webhook without url', { ...fine, webhook: {} }, false],
    ['SearchBody', 'a secret with a NUL', { ...fine, webhook: { url: 'https://a.example/', secret: '\u0000' } }, false],
    [
      'SearchBody',
      'a webhook url of 2049',
      { ...fine, webhook: { url: `https://a.example/${'x'.repeat(2031)}` } },
      false,
    ],
    ['SearchBody', 'a webhook over ftp', { ...fine, webhook: { url: 'ftp://a.example/' } }, false],
    ['SurfaceSearchBody', 'a prompt', { prompt: 'q', country: 'DE' }, true],
    ['SurfaceSearchBody', 'surfaces', fine, false],
    ['BatchBody', 'no items', { items: [] }, false],
    ['BatchBody', '500 items', { items: Array(500).fill(fine) }, true],
    ['BatchBody', '501 items', { items: Array(501).fill(fine) }, false],
    ['WatchBody', 'the least', watch, true],
    ['WatchBody', 'no schedule', fine, false],
    ['WatchBody', 'minutes', { ...fine, schedule: { intervalMinutes: 45 } }, true],
    ['WatchBody', 'no minutes', { ...fine, schedule: { intervalMinutes: 0 } }, false],
    ['WatchBody', 'both forms of schedule', { ...fine, schedule: { every: '1h', intervalMinutes: 60 } }, false],
    ['WatchBody', 'an interval without a name', { ...fine, schedule: { every: '2h' } }, false],
    ['WatchBody', 'prompt', { ...watch, prompt: 'q' }, false],
    ['WatchBody', 'a name of 200', { ...watch, name: 'n'.repeat(200) }, true],
    ['WatchBody', 'a name of 201', { ...watch, name: 'n'.repeat(201) }, false],
    ['WatchBody', 'a webhook', { ...watch, webhookUrl: 'https://a.example/' }, true],
    ['WatchBody', 'a null webhook', { ...watch, webhookUrl: null }, false],
    ['WatchBody', 'ten regions', { ...watch, regions: Array(10).fill('US') }, true],
    ['WatchBody', 'eleven regions', { ...watch, regions: Array(11).fill('US') }, false],
    ['WatchPatchBody', 'nothing', {}, true],
    ['WatchPatchBody', 'a null webhook', { webhookUrl: null }, true],
    ['WatchPatchBody', 'a pause', { status: 'paused' }, true],
    ['WatchPatchBody', 'a cancel', { status: 'canceled' }, false],
    ['WatchPatchBody', 'a query', { query: 'q' }, false],
  ];
  const PARSERS = new Map<string, (body: unknown) => unknown>([
    ['SearchBody', (body) => parseSearchBody(body)],
    ['SurfaceSearchBody', (body) => parseSearchBody(body, { surface: 'engine_news' })],
    ['BatchBody', (body) => parseBatchBody(body)],
    ['WatchBody', (body) => parseWatchCreate(body)],
    ['WatchPatchBody', (body) => parseWatchUpdate(body)],
  ]);

  it.each(cases)('%s with %s', (name, _, body, allowed) => {
    expect(findFaults(schemaOf(name), body) === '').toBe(allowed);
    const parse = () => PARSERS.get(name)?.(body);
    if (allowed) expect(parse()).toBeDefined();
    else expect(parse).toThrow(ServiceError);
  });

  const examples = operations.flatMap(([title, { requestBody }]) =>
    Object.values(requestBody?.content ?? {}).flatMap((content) =>
      Object.values(content.examples ?? {}).map(({ value }): [string, string, unknown] => [
        title,
        content.schema.$ref?.split('/').at(-1) ?? '',
        value,
      ]),
    ),
  );
  it.each(examples.filter(([, name]) => PARSERS.has(name)))('as in the example of %s (%s)', (_, name, value) => {
    expect(PARSERS.get(name)?.(value)).toBeDefined();
  });
});

type Sent = { method: string; path: string; status: number; headers: Record<string, string>; body: object };

describe('a response that the document does not describe is noticed:', () => {
  const headers = {
    'x-request-id': 'req_12345678',
    'x-service-version': '2026-06-27',
    'content-type': 'application/json',
  };
  const surfaces = { surfaces: [{ id: 'engine_news', live: true }], schemaVersion: '2026-06-27' };
  const good: Sent = { method: 'GET', path: '/v1/surfaces', status: 200, headers, body: surfaces };
  const error = { code: 'JOB_NOT_FOUND', error: 'x', request_id: 'req_12345678', docs_url: 'https://a.example/docs#X' };
  const check = ({ body, headers: sent, ...seen }: Sent) => {
    checkResponse({ ...seen, headers: new Headers(sent), text: JSON.stringify(body) });
  };

  it('this one it describes', () => {
    expect(() => check(good)).not.toThrow();
    expect(() => check({ ...good, path: '/v1/jobs/x', status: 404, body: error })).not.toThrow();
    expect(() => check({ ...good, path: '/v1/x', status: 404, body: { ...error, code: 'NOT_FOUND' } })).not.toThrow();
  });

  it.each<[string, Partial<Sent>, string]>([
    ['a missing field', { body: { surfaces: [] } }, 'schemaVersion'],
    ['a field of another type', { body: { ...surfaces, surfaces: [{ id: 'engine_news', live: 1 }] } }, 'boolean'],
    [
      'a word that is not of the list',
      { body: { ...surfaces, surfaces: [{ id: 'x', live: true }] } },
      'allowed values',
    ],
    ['a field too many', { body: { ...surfaces, extra: 1 } }, 'extra'],
    ['a field too many inside', { body: { ...surfaces, surfaces: [{ id: 'engine_news', live: true, x: 1 }] } }, '"x"'],
    ['a status', { status: 201 }, 'not in the OpenAPI document'],
    ['a path', { path: '/v1/nothing' }, 'not in the OpenAPI document'],
    ['a method', { method: 'DELETE' }, 'not in the OpenAPI document'],
    ['a content type', { headers: { ...headers, 'content-type': 'text/plain' } }, 'content type'],
    [
      'a missing header',
      { headers: { 'x-service-version': '2026-06-27', 'content-type': 'application/json' } },
      'X-Request-Id',
    ],
    ['a header of another form', { headers: { ...headers, 'x-service-version': '1' } }, 'X-Service-Version'],
    [
      'a code of another route',
      { path: '/v1/jobs/x', status: 404, body: { ...error, code: 'ARTIFACT_NOT_FOUND' } },
      'code',
    ],
    ['an unknown code', { path: '/v1/jobs/x', status: 404, body: { ...error, code: 'NOPE' } }, 'allowed values'],
  ])('%s', (_, change, words) => {
    expect(() => check({ ...good, ...change })).toThrow(words);
  });
});

describe('the running service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  }, 90_000);
  afterAll(() => service.close());
  const readPublic = (path: string) => callApi(service.api.url, null, 'GET', path);

  it('serves the document, with its own address', async () => {
    const { text } = await readPublic('/openapi.json');
    const served = readJson(text);
    const servers = [expect.objectContaining({ url: expect.stringMatching(/^https?:/) })];
    expect(served).toEqual({ ...readJson(JSON.stringify(document)), servers });
  });

  it('shows it as a page that loads nothing, where every link leads somewhere', async () => {
    const { text, headers } = await readPublic('/docs');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'unsafe-inline'/);
    expect(text).not.toMatch(/<script|<link|<img|@import|url\(|src=/i);
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const targets = [...text.matchAll(/ href="#([^"]+)"/g)].map(([, target]) => target);
    expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
    expect(Object.keys(ERRORS).filter((code) => !ids.includes(code))).toEqual([]);
  });

  it('leads from the docs_url of an error to the section of its code', async () => {
    const { text } = await readPublic('/v1/nothing');
    const { pathname, hash } = new URL(/"docs_url":"([^"]+)"/.exec(text)?.[1] ?? '');
    expect((await readPublic(pathname)).text).toContain(`<section id="${hash.slice(1)}">`);
  });

  it.each(SCOPES)('has exactly the documented routes, by what a key with %s may call', async (scope) => {
    const { key } = await openKey(service.database.db, service.accountId, 'live', [scope]);
    const [method, path] = scope === 'usage:read' ? ['GET', '/v1/jobs'] : ['GET', '/v1/usage'];
    const { status, body } = await callApi(service.api.url, key, method, path);
    expect(status).toBe(403);
    const allowed = (/may call: (.*)\.$/.exec(body.error)?.[1] ?? '')
      .split(', ')
      .map((route) => route.replace(/\*(\w+)/, '{$1}'));
    const documented = operationsOf({ paths: document.paths, webhooks: {} })
      .filter(([, { security }]) => security.every((needed) => needed['apiKey']?.includes(scope)))
      .map(([title]) => title);
    expect(allowed.sort()).toEqual(documented.sort());
  });
});
