import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ERRORS, SURFACES } from '../../pkg/contract/index.ts';
import { revokeKey, SCOPES } from '../../pkg/accounts/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { until } from '../support/poll.ts';
import { sendRaw } from '../support/raw-http.ts';
import { callApi, startService, type Answer, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  // What fails is tried three times: without a pause between, whose length `searches.test.ts` proves.
  service = await startService({ env: { RETRY_BACKOFF_SECONDS: '0' } });
}, 90_000);
afterAll(async () => {
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
  await service.close();
});

const LIVE = SURFACES.filter((surface) => surface !== 'assistant_four');
const post = (path: string, body: unknown, headers?: Record<string, string>) =>
  service.call('POST', path, body, headers);
const get = (path: string) => service.call('GET', path);

function expectError(answer: Answer, code: keyof typeof ERRORS): void {
  expect(answer.body).toMatchObject({
    code,
    error: expect.any(String),
    docs_url: expect.stringContaining(`/docs#${code}`),
  });
  expect(answer.status).toBe(ERRORS[code].status);
  expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
  expect(answer.headers.get('x-service-version')).toBe('2026-06-27');
}

async function ended(jobId: string) {
  return until(
    async () => {
      const { body } = await get(`/v1/jobs/${jobId}`);
      return body.job.status === 'processing' ? undefined : body;
    },
    { timeoutMs: 60_000, what: `${jobId} ends` },
  );
}

describe('a search', () => {
  it.each(LIVE)(
    'for %s alone answers with the whole envelope',
    async (surface) => {
      const { status, body, headers } = await post('/v1/search', {
        query: 'Which bicycle is best for commuting?',
        surfaces: [surface],
      });
      expect({ status, body }).toMatchObject({ status: 200, body: { status: 'completed' } });
      expect(body.jobId).toBe(body.job.parentId);
      expect(headers.get('location')).toBe(`/v1/jobs/${body.jobId}`);
      expect(body.provenance).toMatchObject({
        surfacePresent: true,
        schemaVersion: '2026-06-27',
        region: { requested: null },
      });
      expect(body.answer.text.length).toBeGreaterThan(20);
      expect(body.answer.text).toBe(body.answer.blocks.map(({ text }) => text).join('\n\n'));
      expect(body.answer.markdown.length).toBeGreaterThan(20);
      expect(body.evidence.sources.length).toBeGreaterThan(0);
      for (const source of body.evidence.sources) {
        expect(source.url).toMatch(/^https?:\/\//);
        for (const { start, end } of source.charRanges) expect(body.answer.text.slice(start, end).trim()).not.toBe('');
      }
      expect(body.credits.creditsCharged).toBe(body.credits.creditsToCharge);
      expect(headers.get('x-credits-charged')).toBe(String(body.credits.creditsCharged));
      const read = await get(`/v1/jobs/${body.job.id}`);
      expect(read.body).toMatchObject({ job: body.job, answer: body.answer, evidence: body.evidence });
    },
    60_000,
  );

  it('for several surfaces is asynchronous, and rolls up', async () => {
    const { status, body, headers } = await post('/v1/search', {
      query: 'bicycles',
      surfaces: ['engine_search', 'engine_news'],
      regions: ['DE', 'US'],
    });
    expect(status).toBe(202);
    expect(body).toMatchObject({ status: 'processing', credits: { creditsToCharge: 12, creditsCharged: 0 } });
    expect(body.children).toEqual(
      ['engine_search.de', 'engine_search.us', 'engine_news.de', 'engine_news.us'].map((end) => `${body.jobId}.${end}`),
    );
    expect(headers.get('location')).toBe(`/v1/jobs/${body.jobId}`);
    const parent = await ended(body.jobId);
    expect(parent).toMatchObject({
      job: { status: 'completed' },
      credits: { creditsToCharge: 12, creditsCharged: 12 },
    });
    expect(parent.children.map(({ region }) => region)).toEqual(['de', 'us', 'de', 'us']);
  }, 60_000);

  it('for a city and a language, in any script, gives an answer and its proof page', async () => {
    const { status, body } = await post('/v1/search', {
      query: 'bicycles',
      surfaces: ['assistant_one'],
      region: { country: 'jp', city: '東京 23区', language: 'ja' },
      include: { html: true },
    });
    expect(status).toBe(200);
    expect(body.job.id).toBe(`${body.jobId}.assistant_one.jp:東京-23区:ja`);
    const child = await service.call('GET', `/v1/jobs/${encodeURIComponent(body.job.id)}`);
    expect(child.body.answer).toEqual(body.answer);
    const proof = await fetch(body.html, {
      headers: { authorization: `Bearer ${service.key}` },
      signal: AbortSignal.timeout(10_000),
    });
    expect(proof.status).toBe(200);
    expect(await proof.text()).toContain('<html');
  }, 60_000);

  it('for several surfaces can be waited for', async () => {
    const { status, body, headers } = await post(
      '/v1/search',
      { query: 'bicycles', surfaces: ['engine_search', 'engine_news'] },
      { prefer: 'wait=30' },
    );
    expect(status).toBe(200);
    expect(headers.get('preference-applied')).toBe('wait=30');
    expect(body.results.map(({ job }) => job.surface)).toEqual(['engine_search', 'engine_news']);
    expect(body).toMatchObject({ status: 'completed', credits: { creditsToCharge: 6, creditsCharged: 6 } });
  }, 60_000);

  it.each([
    ['mode=async makes one surface asynchronous', '/v1/search?mode=async', {}, {}, 202],
    ['an alias is synchronous', '/v1/search/engine_news', {}, {}, 200],
    [
      'a webhook forces async, whatever the mode',
      '/v1/search?mode=sync',
      { webhook: { url: 'https://receiver.example/hook', secret: 's' } },
      {},
      202,
    ],
  ])(
    '%s',
    async (_, path, extra, headers, status) => {
      const surfaces = path.includes('/search/') ? {} : { surfaces: ['engine_news'] };
      expect((await post(path, { query: 'bicycles', ...surfaces, ...extra }, headers)).status).toBe(status);
    },
    60_000,
  );

  it('can be read flat', async () => {
    const { body } = await post('/v1/search?view=flat', { prompt: 'bicycles', surfaces: ['engine_search'] });
    expect(Object.keys(body).sort()).toEqual(['jobId', 'markdown', 'sources', 'status', 'surface', 'text']);
  }, 60_000);
});

// Which engine ends how is in outcomes.test.ts; here is what callers are told.
describe('each outcome is answered as the design says', () => {
  it.each([
    ['engine_search', '[[absent]]', 200, 'completed', 'absent'],
    ['assistant_one', '[[empty]]', 502, 'EMPTY_ANSWER', null],
    ['engine_ai_mode', '[[empty]]', 200, 'completed', 'absent'],
    ['assistant_three', '[[blocked]]', 502, 'ACQUISITION_FAILED', null],
    ['assistant_five', '[[crash]]', 502, 'ACQUISITION_FAILED', null],
    ['engine_search', '[[http:500]]', 502, 'UPSTREAM_BAD_GATEWAY', null],
    ['assistant_five', '[[edit]]', 200, 'completed', 'present'],
    ['assistant_one', '[[unicode]]', 200, 'completed', 'present'],
    ['assistant_three', '[[long]]', 200, 'completed', 'present'],
    ['assistant_five', '[[nosources]]', 200, 'completed', 'present'],
  ])(
    '%s %s',
    async (surface, directive, status, verdict, presence) => {
      const { status: got, body } = await post('/v1/search', { query: `bicycles ${directive}`, surfaces: [surface] });
      expect({ got, verdict: status === 200 ? body.job.status : body.code }).toEqual({ got: status, verdict });
      if (presence === null) return;
      expect(body.provenance.surfacePresent).toBe(presence === 'present');
      if (presence === 'absent')
        expect(body).toMatchObject({
          job: { warnings: ['surface_absent'] },
          answer: { text: '', markdown: '', blocks: [] },
          credits: { creditsCharged: 0 },
        });
      if (directive === '[[nosources]]') expect(body.evidence.sources).toEqual([]);
      if (directive === '[[long]]') expect(body.answer.text.length).toBeGreaterThan(100_000);
    },
    90_000,
  );

  it('at the deadline: partial where text stands, SURFACE_TIMEOUT where none does, both uncharged', async () => {
    const run = async (directive: string, surface: string) => {
      const { body } = await post('/v1/search?mode=async', { query: `bicycles ${directive}`, surfaces: [surface] });
      const parent = await ended(body.jobId);
      return (await get(`/v1/jobs/${parent.job.children[0]}`)).body;
    };
    const [stalled, cutList, silent] = await Promise.all([
      run('[[stall]]', 'assistant_one'),
      run('[[stall]]', 'engine_search'),
      run('[[slow:60000]]', 'assistant_three'),
    ]);
    for (const partial of [stalled, cutList]) {
      expect(partial).toMatchObject({ job: { status: 'partial' }, credits: { creditsCharged: 0 } });
      expect(partial.answer.text).not.toBe('');
    }
    expect(silent).toMatchObject({
      job: { status: 'failed', error: { code: 'SURFACE_TIMEOUT' } },
      answer: { text: '' },
      credits: { creditsCharged: 0 },
    });
  }, 90_000);

  it('gives up a synchronous wait with SURFACE_TIMEOUT, stops the capture and charges nothing', async () => {
    const answer = await post(
      '/v1/search',
      { query: 'bicycles [[stall]]', surfaces: ['assistant_one'] },
      { prefer: 'wait=4' },
    );
    expectError(answer, 'SURFACE_TIMEOUT');
    const jobId = answer.headers.get('location')?.split('/').at(-1) ?? '';
    expect(await ended(jobId)).toMatchObject({ job: { status: 'canceled' }, credits: { creditsCharged: 0 } });
  }, 60_000);

  it('gives up at once a synchronous wait of no time', async () => {
    const answer = await post('/v1/search', { query: 'q', surfaces: ['engine_news'] }, { prefer: 'wait=0' });
    expectError(answer, 'SURFACE_TIMEOUT');
    expect(answer.headers.get('preference-applied')).toBe('wait=0');
    expect(await get(answer.headers.get('location') ?? '')).toMatchObject({
      body: { job: { status: expect.stringMatching(/^(canceled|expired)$/) }, credits: { creditsCharged: 0 } },
    });
  });
});

describe('what is not a search', () => {
  it.each([
    ['an unknown field', { query: 'q', surfaces: ['engine_news'], colour: 'red' }, 'VALIDATION_FAILED', 'colour'],
    ['no surfaces', { query: 'q' }, 'VALIDATION_FAILED', 'surfaces'],
    ['an unknown surface', { query: 'q', surfaces: ['engine_x'] }, 'UNSUPPORTED_SURFACE', 'engine_x'],
    [
      'a surface without a lane',
      { query: 'q', surfaces: ['assistant_four'] },
      'UNSUPPORTED_METHOD_FOR_SURFACE',
      'assistant_four',
    ],
    ['a query that is too long', { query: '😀'.repeat(2001), surfaces: ['engine_news'] }, 'QUERY_TOO_LONG', '2000'],
    [
      'eleven regions',
      { query: 'q', surfaces: ['engine_news'], regions: Array(11).fill('US') },
      'TOO_MANY_REGIONS',
      '10',
    ],
    [
      'a private webhook',
      { query: 'q', surfaces: ['engine_news'], webhook: { url: 'https://127.0.0.1/x' } },
      'VALIDATION_FAILED',
      'webhook.url',
    ],
    ['no object', '[1]', 'VALIDATION_FAILED', 'body'],
    ['no JSON', '{', 'VALIDATION_FAILED', 'JSON'],
    ['nothing', '', 'VALIDATION_FAILED', 'body'],
    ['too deep', '['.repeat(40) + ']'.repeat(40), 'VALIDATION_FAILED', '32'],
  ] as const)('is refused: %s', async (_, body, code, word) => {
    const answer = await post('/v1/search', body);
    expectError(answer, code);
    expect(answer.body.error).toContain(word);
  });

  it('is refused with another content type', async () => {
    expectError(await post('/v1/search', 'query=q', { 'content-type': 'text/plain' }), 'VALIDATION_FAILED');
  });
});

describe('a body that can not be read', () => {
  it.each(['gzip', 'deflate', 'br'])('is refused: broken %s', async (encoding) => {
    expectError(await post('/v1/search', 'broken', { 'content-encoding': encoding }), 'VALIDATION_FAILED');
  });

  it.each([
    ['nothing', undefined, {}],
    ['no JSON', '{', {}],
    ['another content type', 'x', { 'content-type': 'text/plain' }],
  ])('does not hide that the path names no surface: %s', async (_, body, headers) => {
    expectError(await post('/v1/search/engine_x', body, headers), 'UNSUPPORTED_SURFACE');
  });
});

describe('routing', () => {
  it('needs a Host header, as HTTP/1.1 does', async () => {
    const { status, headers, body } = await sendRaw(
      service.api.url,
      'GET /v1/surfaces HTTP/1.1\r\nConnection: close\r\n\r\n',
    );
    expect(status).toBe(400);
    expect(headers.get('x-service-version')).toBe('2026-06-27');
    expect(JSON.parse(body)).toMatchObject({ code: 'VALIDATION_FAILED', request_id: headers.get('x-request-id') });
  });

  it.each([
    ['GET', '/v1/nothing', 'NOT_FOUND'],
    ['GET', '/', 'NOT_FOUND'],
    ['GET', '/v1/jobs/%E0%A4%A', 'NOT_FOUND'],
    ['PUT', '/v1/search', 'METHOD_NOT_ALLOWED'],
    ['POST', '/v1/health', 'METHOD_NOT_ALLOWED'],
    ['GET', '/v1/jobs/job_nope', 'JOB_NOT_FOUND'],
    ['GET', '/v1/jobs/job_01j00000000000000000000000', 'JOB_NOT_FOUND'],
    ['POST', '/v1/search/engine_x', 'UNSUPPORTED_SURFACE'],
    ['GET', '/v1/artifacts/..%2f..%2fetc%2fpasswd', 'ARTIFACT_NOT_FOUND'],
  ] as const)('answers %s %s with %s', async (method, path, code) => {
    expectError(await service.call(method, path, method === 'POST' ? { query: 'q' } : undefined), code);
  });

  it('names the allowed methods', async () => {
    expect((await service.call('DELETE', '/v1/jobs')).headers.get('allow')).toBe('GET, HEAD');
  });

  it.each([
    ['client-id.01_x', true],
    ['short', false],
    ['with space in it', false],
  ])('echoes the request id %s: %s', async (id, echoed) => {
    const { headers } = await service.call('GET', '/v1/surfaces', undefined, { 'x-request-id': id });
    expect(headers.get('x-request-id') === id).toBe(echoed);
  });
});

describe('keys', () => {
  it.each([
    ['no key', null],
    ['a malformed key', 'nonsense'],
    ['an unknown key', `sk_live_${'a'.repeat(40)}`],
  ])('answers %s with AUTH_INVALID', async (_, key) => {
    expectError(await callApi(service.api.url, key, 'GET', '/v1/jobs'), 'AUTH_INVALID');
  });

  it('end within seconds when they are revoked', async () => {
    const { keyId, key } = await openKey(service.database.db, service.accountId);
    expect((await callApi(service.api.url, key, 'GET', '/v1/jobs')).status).toBe(200);
    await revokeKey(service.database.db.system, keyId);
    await until(async () => (await callApi(service.api.url, key, 'GET', '/v1/jobs')).status === 401, {
      timeoutMs: 5_000,
      what: 'the key is refused',
    });
  });

  it('may call what they are scoped for, and the error names what that is', async () => {
    const { key } = await openKey(service.database.db, service.accountId, 'live', ['jobs:read']);
    const answer = await callApi(service.api.url, key, 'POST', '/v1/search', {});
    expectError(answer, 'SCOPE_FORBIDDEN');
    expect(answer.body.error).toContain('GET /v1/jobs/{id}');
    expect(answer.body.error).not.toContain('POST /v1/search');
  });

  it('without a header are told apart only where the contract says so', async () => {
    expectError(await callApi(service.api.url, null, 'GET', '/v1/webhooks/secrets'), 'AUTH_MISSING');
    expectError(await callApi(service.api.url, 'x', 'GET', '/v1/webhooks/secrets'), 'AUTH_INVALID');
  });

  it('of an internal kind act for the owner they name, unmetered', async () => {
    const staff = await openAccount(service.database.db, { plan: 'internal', credits: 0 });
    const { key } = await openKey(service.database.db, staff, 'internal', [...SCOPES]);
    const headers = { 'x-service-on-behalf-of': service.accountId };
    const accepted = await callApi(
      service.api.url,
      key,
      'POST',
      '/v1/search?mode=async',
      { query: 'q', surfaces: ['engine_news'] },
      headers,
    );
    expect(accepted).toMatchObject({
      status: 202,
      body: { owner: service.accountId, credits: { creditsToCharge: 0 } },
    });
    expect(accepted.headers.get('x-service-owner')).toBe(service.accountId);
    expect(accepted.headers.get('x-credits-charged')).toBeNull();
    await ended(accepted.body.jobId);
    expectError(
      await callApi(
        service.api.url,
        key,
        'POST',
        '/v1/search',
        { query: 'q', surfaces: ['engine_news'] },
        { 'x-service-on-behalf-of': 'acct_nobody' },
      ),
      'VALIDATION_FAILED',
    );
    const none = await callApi(service.api.url, key, 'GET', `/v1/jobs/${accepted.body.jobId}?owner=acct_nobody`);
    expectError(none, 'JOB_NOT_FOUND');
    expect(none.headers.get('x-service-owner')).toBe('acct_nobody');
    for (const owner of ['%0a', '%E6%9D%B1', '%20', 'a'.repeat(101)]) {
      const refused = await callApi(service.api.url, key, 'GET', `/v1/jobs?owner=${owner}`);
      expectError(refused, 'VALIDATION_FAILED');
      expect(refused.body.error).toContain('owner');
    }
    expect((await callApi(service.api.url, key, 'GET', '/v1/jobs?owner=acct_nobody')).body).toEqual({
      items: [],
      nextCursor: null,
      owner: 'acct_nobody',
    });
  }, 60_000);
});

describe('public routes', () => {
  it('list every surface and whether it is live', async () => {
    const { body } = await callApi(service.api.url, null, 'GET', '/v1/surfaces');
    expect(body).toEqual({
      surfaces: SURFACES.map((id) => ({ id, live: id !== 'assistant_four' })),
      schemaVersion: '2026-06-27',
    });
  });

  it('describe regions', async () => {
    const { status, body } = await callApi(service.api.url, null, 'GET', '/v1/regions');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      targeting: { country: expect.any(String) },
      examples: expect.any(Array),
      popularCountries: expect.any(Array),
    });
  });

  it.each(['/v1/health', '/v1/health?probe=deep'])('tell health at %s', async (path) => {
    const { status, body } = await callApi(service.api.url, null, 'GET', path);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        status: 'ok',
        schemaVersion: '2026-06-27',
        bindings: { artifacts: true, edgeCache: true, database: true },
      },
    });
  });
});

describe('proof pages', () => {
  it('are stored when asked for, served to their owner only, and never run', async () => {
    const { body } = await post('/v1/search', {
      query: 'bicycles',
      surfaces: ['engine_ai_mode'],
      include: { html: true },
    });
    const url = new URL(body.html);
    expect(url.pathname).toBe(
      `/v1/artifacts/${encodeURIComponent(decodeURIComponent(url.pathname.slice('/v1/artifacts/'.length)))}`,
    );
    const proof = await service.call('GET', url.pathname);
    expect(proof.status).toBe(200);
    expect(proof.headers.get('content-type')).toMatch(/^text\/html/);
    expect(proof.headers.get('content-security-policy')).toContain('sandbox');
    expect(proof.text).not.toMatch(/<script/i);
    const head = await service.call('HEAD', url.pathname);
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(proof.text)));
    const etag = proof.headers.get('etag') ?? '';
    expect((await service.call('GET', url.pathname, undefined, { 'if-none-match': etag })).status).toBe(304);
    const other = await openKey(service.database.db, await openAccount(service.database.db));
    expectError(await callApi(service.api.url, other.key, 'GET', url.pathname), 'ARTIFACT_NOT_FOUND');
    expect((await get(`/v1/jobs/${body.job.id}`)).body.html).toBeUndefined();
    expect((await get(`/v1/jobs/${body.job.id}?include=html`)).body.html).toBe(body.html);
  }, 60_000);
});
