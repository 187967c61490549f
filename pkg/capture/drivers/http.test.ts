import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import type { Region } from '../../contract/index.ts';
import { systemClock } from '../../runtime/index.ts';
import { closeServer, createLog, portOf, startListening } from '../../telemetry/index.ts';
import type { CapturedPage, CaptureResult } from '../outcome.ts';
import { createHttpDriver } from './http.ts';
import { parseHttpProfile } from './http/parse.ts';

const log = createLog('test', 'silent');

type Asked = {
  profile?: object;
  query?: string;
  region?: Region;
  timeoutMs?: number;
  signal?: AbortSignal;
  apiKey?: string;
};

/** `go.url` of the profile is given without its origin, which is that of a server of this test's own. */
async function ask(answer: RequestListener, asked: Asked): Promise<CaptureResult> {
  const server = createServer(answer);
  await startListening(server, '127.0.0.1', 0);
  try {
    return await askAt(`http://127.0.0.1:${portOf(server)}`, asked);
  } finally {
    await closeServer(server, 0);
  }
}

const RESULTS = { items: 'results', url: 'url', title: 'title', snippet: 'content', date: 'date' };
const SEARCH = { go: { url: '/search?q={query}' }, read: { results: RESULTS } };

async function askAt(
  origin: string,
  { profile = SEARCH, query = 'x', region, timeoutMs = 8000, signal, apiKey }: Asked,
): Promise<CaptureResult> {
  const driver = createHttpDriver({
    profile: parseHttpProfile(withOrigin(profile, origin), 'spec.profile'),
    apiKey: apiKey ?? null,
    clock: systemClock,
    log,
  });
  const task = { captureId: 'c', surface: 'engine_search', query, region: region ?? null, wantsProof: true } as const;
  try {
    return await driver.capture({ ...task, timeoutMs }, signal ?? new AbortController().signal);
  } finally {
    await driver.close();
  }
}

function withOrigin(profile: object, origin: string): object {
  const go = 'go' in profile && typeof profile.go === 'object' ? profile.go : {};
  const url = go !== null && 'url' in go && typeof go.url === 'string' ? go.url : '';
  return { ...profile, go: { ...go, url: origin + url } };
}

const sends =
  (status: number, body: unknown, headers: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** What the server was sent. */
async function sent(asked: Asked) {
  const seen = { method: '', url: '', headers: {} as Record<string, unknown>, body: '' };
  await ask((request, response) => {
    Object.assign(seen, { method: request.method, url: request.url, headers: request.headers });
    request.on('data', (chunk: Buffer) => (seen.body += chunk.toString()));
    request.on('end', () => response.end('{"results":[]}'));
  }, asked);
  return seen;
}

function expectPage(result: CaptureResult): CapturedPage {
  if (result.outcome !== 'completed') throw new Error(JSON.stringify(result));
  return result;
}

describe('the request of the http driver', () => {
  it('encodes what it puts into the URL, and leaves out parameters without a value', async () => {
    const profile = { ...SEARCH, go: { url: '/search/{language}?q={query}&hl={language}&gl={country}&n=10' } };
    const asked = { profile, query: 'a&b=c #1 日本\n{country}', region: { country: 'DE' } };
    expect((await sent(asked)).url).toBe('/search?q=a%26b%3Dc%20%231%20%E6%97%A5%E6%9C%AC%0A%7Bcountry%7D&gl=DE&n=10');
  });

  it('puts the question into a JSON body whose shape it can not change', async () => {
    const json = { query: 'Tell: {query}', options: { country: '{country}', fixed: [1, true, null, '{city}'] } };
    const profile = { ...SEARCH, go: { method: 'POST', url: '/v1', json } };
    const { method, headers, body: written } = await sent({ profile, query: '","x":{"' });
    expect({ method, type: headers['content-type'], body: JSON.parse(written) as unknown }).toEqual({
      method: 'POST',
      type: 'application/json',
      body: { query: 'Tell: ","x":{"', options: { fixed: [1, true, null] } },
    });
  });

  it('sends a form', async () => {
    const profile = { ...SEARCH, go: { method: 'POST', url: '/', form: { q: '{query}', l: '{language}', f: 'json' } } };
    const { headers, body } = await sent({ profile, query: 'a&b=ü +' });
    expect([headers['content-type'], body]).toEqual([
      'application/x-www-form-urlencoded',
      'q=a%26b%3D%C3%BC+%2B&f=json',
    ]);
  });

  it.each([
    { place: { header: 'X-Key' }, url: '/search?q=x', key: 'k 1' },
    { place: { header: 'Authorization', prefix: 'Bearer ' }, url: '/search?q=x', authorization: 'Bearer k 1' },
    { place: { parameter: 'api_key' }, url: '/search?q=x&api_key=k+1' },
  ])('sends its key as $place', async ({ place, url, key, authorization }) => {
    const profile = { ...SEARCH, go: { ...SEARCH.go, secret: { env: 'KEY', ...place } } };
    const seen = await sent({ profile, apiKey: 'k 1' });
    expect(seen.url).toBe(url);
    expect([seen.headers['x-key'], seen.headers['authorization']]).toEqual([key, authorization]);
  });

  it('sends headers, encoded where a header can not hold the value, and none without a value', async () => {
    const headers = { 'X-City': '{city}', 'X-State': '{state}', Accept: 'application/ld+json' };
    const seen = await sent({
      profile: { ...SEARCH, go: { ...SEARCH.go, headers } },
      region: { country: 'DE', city: 'Köln\n' },
    });
    expect(seen.headers).toMatchObject({ 'x-city': 'K%C3%B6ln%0A', accept: 'application/ld+json' });
    expect(seen.headers).not.toHaveProperty('x-state');
  });
});

describe('a page of results from JSON', () => {
  it('is one list, with resolved and unwrapped URLs, in the order of its ranks', async () => {
    const profile = {
      go: { url: '/search?q={query}&hl={language}', applies: ['language'] },
      read: {
        results: {
          items: 'web.results',
          url: 'link',
          title: 'name || link',
          snippet: 'parts',
          date: 'when',
          rank: 'position',
          summary: 'note',
          format: 'html',
        },
        fanOut: 'related[].query',
        webSearch: '`true`',
      },
      links: { unwrap: [{ host: '127.0.0.1', parameter: 'to' }], strip: ['utm_*'] },
      model: { providerId: 'acme' },
    };
    const json = {
      note: 'About <b>3</b>',
      related: [{ query: 'y' }, {}, { query: 'z' }],
      web: {
        results: [
          { link: '/b#part', name: 'B &amp; <em>C</em>', parts: ['one<br>', 'two'], position: 2, when: 1_700_000_000 },
          { link: 'https://c.example/?a=1&utm_source=x', position: '10', when: 1_700_000_000_000 },
          { link: '/go?to=https%3A%2F%2Fa.example%2F', name: 'A', position: 1, when: '2 days ago' },
          { name: 'no link', position: 0 },
        ],
      },
    };
    const page = expectPage(await ask(sends(200, json), { profile, region: { country: 'DE', language: 'de' } }));
    const origin = page.evidence.sources[1]?.url.replace('/b#part', '') ?? '';
    expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(page.answer.text).toBe(
      [
        'About 3\n\nA\n2 days ago',
        'B & C\none two\n2023-11-14T22:13:20.000Z',
        'https://c.example/?a=1&utm_source=x\n2023-11-14T22:13:20.000Z',
      ].join('\n'),
    );
    expect(page.evidence.sources.map(({ url, title, role }) => [url, title, role])).toEqual([
      ['https://a.example/', 'A', 'result'],
      [`${origin}/b#part`, 'B & C', 'result'],
      ['https://c.example/?a=1', 'https://c.example/?a=1&utm_source=x', 'result'],
    ]);
    expect(page).toMatchObject({
      evidence: { fanOut: { provenance: 'observed', queries: ['y', 'z'] } },
      effectiveRegion: { language: 'de' },
      webSearch: true,
      model: { providerId: 'acme', observedLabel: null },
      proofHtml: null,
    });
    for (const { charRanges, title } of page.evidence.sources) {
      expect(charRanges.map(({ start, end }) => page.answer.text.slice(start, end))).toEqual([title]);
    }
  });

  it('is empty where the list is', async () => {
    expect(await ask(sends(200, { results: [] }), {})).toMatchObject({ outcome: 'empty' });
  });
});

describe('an answer from JSON', () => {
  const cited = ['https://a.example/', 'https://b.example/'];
  const read = (format: string) => ({
    answer: { text: 'choices[0].text', format },
    sources: { items: 'citations', url: '@' },
    model: 'model',
  });

  it.each([
    { format: 'markdown', said: '**One** is big.[1] Two[2][9]', text: 'One is big. Two[9]' },
    { format: 'text', said: '**One** is big.[1]\nTwo [2]', text: '**One** is big.\nTwo' },
    { format: 'html', said: '<p><b>One</b> is big.</p>', text: 'One is big.' },
  ])('is read as $format, its marks as citations of the list', async ({ format, said, text }) => {
    const json = { model: 'm-1', choices: [{ text: said }], citations: cited };
    const page = expectPage(await ask(sends(200, json), { profile: { ...SEARCH, read: read(format) } }));
    expect(page.answer.text).toBe(text);
    expect(page.model).toMatchObject({ observedLabel: 'm-1', inferred: false, confidence: 1 });
    expect(
      page.evidence.sources.map(({ url, cited: is, charRanges }) => [
        url,
        is,
        charRanges.map(({ start, end }) => page.answer.text.slice(start, end)),
      ]),
    ).toEqual(
      format === 'html'
        ? cited.map((url) => [url, false, []])
        : [
            [cited[0], true, [format === 'text' ? '**One** is big.' : 'One is big.']],
            [cited[1], true, ['Two']],
          ],
    );
  });

  it('has the results beside it', async () => {
    const profile = { ...SEARCH, read: { answer: { text: 'answer' }, results: RESULTS } };
    const json = { answer: 'Yes.', results: [{ url: '/a', title: 'A' }] };
    const page = expectPage(await ask(sends(200, json), { profile }));
    expect(page.answer.text).toBe('Yes.');
    expect(page.evidence.sources).toMatchObject([{ title: 'A', role: 'result', cited: false }]);
  });
});

describe('an exchange with a search API', () => {
  const found = { results: [{ url: '/a', title: 'A' }] };
  const classify = { blocked: "code == 'captcha'", error: 'failed', absent: 'nothing' };

  it.each([
    { what: 'HTTP 403', answer: sends(403, found), outcome: 'blocked' },
    { what: 'HTTP 401', answer: sends(401, found), outcome: 'blocked' },
    { what: 'HTTP 404', answer: sends(404, found), outcome: 'unusable' },
    { what: 'HTTP 500', answer: sends(500, found), outcome: 'unusable' },
    { what: 'a web page', answer: sends(200, '<html>'), outcome: 'unusable' },
    { what: 'half of its JSON', answer: sends(200, '{"results": ['), outcome: 'unusable' },
    { what: 'nothing', answer: sends(204, ''), outcome: 'unusable' },
    {
      what: 'JSON without the list',
      answer: sends(200, { error: 'quota' }),
      outcome: 'unusable',
      says: 'read.results.items gave nothing, not a list',
    },
    {
      what: 'an object for a title',
      answer: sends(200, { results: [{ url: '/', title: {} }] }),
      outcome: 'unusable',
      says: 'read.results.title gave an object, not a text',
    },
    {
      what: 'more than 8 MiB',
      answer: sends(200, `"${'a'.repeat(9_000_000)}"`),
      outcome: 'unusable',
      says: 'more than 8388608 bytes',
    },
    { what: 'what `blocked` names', answer: sends(200, { ...found, code: 'captcha', failed: 1 }), outcome: 'blocked' },
    {
      what: 'what `error` names',
      answer: sends(200, { ...found, failed: ['engine'], nothing: true }),
      outcome: 'unusable',
    },
    { what: 'what `absent` names', answer: sends(200, { nothing: true }), outcome: 'absent' },
    {
      what: 'a broken connection',
      answer: ((_, response) => response.destroy()) satisfies RequestListener,
      outcome: 'crashed',
    },
  ])('ends $what as $outcome', async ({ answer, outcome, says = '' }) => {
    const result = await ask(answer, { profile: { ...SEARCH, classify } });
    expect(result.outcome).toBe(outcome);
    expect('detail' in result ? result.detail : '').toContain(says);
  });

  it.each([
    { what: 'an answer that never comes', answer: (() => undefined) satisfies RequestListener },
    {
      what: 'an answer that never ends',
      answer: ((_, response) => void response.writeHead(200).write('{"results": [')) satisfies RequestListener,
    },
  ])('waits for $what no longer than its deadline', async ({ answer }) => {
    const startMs = Date.now();
    expect(await ask(answer, { timeoutMs: 500 })).toMatchObject({ outcome: 'timeout' });
    expect(Date.now() - startMs).toBeLessThan(5000);
    expect(await ask(answer, { signal: AbortSignal.timeout(200) })).toMatchObject({ outcome: 'canceled' });
  });

  it.each([
    { status: 429, retryAfter: '1', outcome: 'completed', requests: 2 },
    { status: 503, retryAfter: undefined, outcome: 'completed', requests: 2 },
    { status: 429, retryAfter: '60', outcome: 'blocked', requests: 1 },
    { status: 503, retryAfter: '60', outcome: 'unusable', requests: 1 },
  ])('asks again after $status with Retry-After $retryAfter: $outcome', async (given) => {
    let requests = 0;
    const busy = sends(given.status, '', given.retryAfter === undefined ? {} : { 'retry-after': given.retryAfter });
    const result = await ask((request, response) => {
      requests += 1;
      (requests === 1 ? busy : sends(200, found))(request, response);
    }, {});
    expect(result.outcome).toBe(given.outcome);
    expect(requests).toBe(given.requests);
  });

  it('follows a redirect inside the origin, and none that leads elsewhere, loops, or drops the question', async () => {
    const to = (status: number, location: string): RequestListener => sends(status, '', { location });
    const inside: RequestListener = (request, response) =>
      (request.url === '/there' ? sends(200, found) : to(302, '/there'))(request, response);
    expect(await ask(inside, {})).toMatchObject({ outcome: 'completed' });
    expect(await ask(to(302, 'http://localhost:1/'), {})).toMatchObject({
      outcome: 'unusable',
      detail: 'The search API redirects to another host.',
    });
    expect(await ask(to(302, '/loop'), {})).toMatchObject({ outcome: 'unusable' });
    const profile = { ...SEARCH, go: { method: 'POST', url: '/', json: { q: '{query}' } } };
    expect(await ask(to(302, '/there'), { profile })).toMatchObject({ outcome: 'unusable' });
  });

  it.each([
    { origin: 'http://127.0.0.1:2', detail: 'The search API can not be reached.' },
    { origin: 'http://169.254.169.254', detail: 'The search API stands where nothing may be asked.' },
    { origin: 'http://[::ffff:169.254.169.254]', detail: 'The search API stands where nothing may be asked.' },
  ])('does not come to $origin', async ({ origin, detail }) => {
    expect(await askAt(origin, {})).toEqual({ outcome: 'unusable', detail });
  });
});

describe('a profile of the http driver', () => {
  const faults = (profile: unknown): string[] => {
    try {
      parseHttpProfile(profile, 'spec.profile');
      return [];
    } catch (error) {
      return error instanceof Error ? error.message.split('\n') : [String(error)];
    }
  };
  const url = 'https://a.example/?q={query}';
  const go = { url };
  const { read } = SEARCH;

  it.each([
    { wrong: 'nothing', profile: {}, says: 'spec.profile.go: is required' },
    { wrong: 'no URL', profile: { go: {}, read }, says: 'spec.profile.go.url: is required' },
    {
      wrong: 'a host that the question chooses',
      profile: { go: { url: 'https://{query}/' }, read },
      says: 'spec.profile.go.url: must not hold a placeholder before its path',
    },
    {
      wrong: 'a file',
      profile: { go: { url: 'file:///etc/{query}' }, read },
      says: 'spec.profile.go.url: must be an http or https URL',
    },
    {
      wrong: 'a password in the URL',
      profile: { go: { url: 'https://a:b@c.example/{query}' }, read },
      says: 'spec.profile.go.url: must not hold a user name or password; use go.secret',
    },
    {
      wrong: 'an unknown placeholder',
      profile: { go: { url: `${url}&x={page}` }, read },
      says: 'spec.profile.go.url: has unknown placeholders: page (known: query, language, country, state, city)',
    },
    {
      wrong: 'an unknown placeholder in the body',
      profile: { go: { method: 'POST', url, json: { a: ['{page}'] } }, read },
      says: 'spec.profile.go.json: has unknown placeholders: page (known: query, language, country, state, city)',
    },
    {
      wrong: 'no question',
      profile: { go: { url: 'https://a.example/' }, read },
      says: 'spec.profile.go: must send {query} in its url, headers or body',
    },
    {
      wrong: 'a body with GET',
      profile: { go: { url, json: {} }, read },
      says: 'spec.profile.go: has a body (form or json), which needs method: POST',
    },
    {
      wrong: 'a region field that is not sent',
      profile: { go: { url, applies: ['country'] }, read },
      says: 'spec.profile.go: applies a field of the region that it does not send',
    },
    {
      wrong: 'two places for the key',
      profile: { go: { url, secret: { env: 'A', header: 'b', parameter: 'c' } }, read },
      says: 'spec.profile.go.secret: must have exactly one of the keys: header, parameter',
    },
    {
      wrong: 'a key instead of its name',
      profile: { go: { url, secret: { env: 'sk-1', header: 'b' } }, read },
      says: 'spec.profile.go.secret.env: must be the name of an environment variable, like SEARCH_API_KEY',
    },
    {
      wrong: 'a header that is none',
      profile: { go: { url, headers: { 'a b': 'c' } }, read },
      says: 'spec.profile.go: has a header whose name is none',
    },
    { wrong: 'nothing to read', profile: { go, read: {} }, says: 'spec.profile.read: must name an answer or results' },
    {
      wrong: 'a broken expression',
      profile: { go, read: { results: { items: 'a[', url: 'b' } } },
      says: 'spec.profile.read.results.items: is no JMESPath expression: Syntax error: expected Star, got: EOF',
    },
    {
      wrong: 'an unknown function',
      profile: { go, read: { results: { items: 'a', url: 'lower(b)', title: 'shout(c)' } } },
      says: 'spec.profile.read.results.title: calls shout(), which JMESPath does not have',
    },
    {
      wrong: 'an unknown format',
      profile: { go, read: { answer: { text: 'a', format: 'pdf' } } },
      says: 'spec.profile.read.answer.format: must be one of: text, markdown, html',
    },
    {
      wrong: 'an unknown key',
      profile: { go, read: { ...read, pages: 'x' } },
      says: 'spec.profile.read: has unknown keys: pages (allowed: results, answer, sources, fanOut, model, webSearch)',
    },
    {
      wrong: 'sources beside results',
      profile: { go, read: { ...read, sources: { items: 'a', url: 'b' } } },
      says: 'spec.profile.read: may name sources beside an answer only',
    },
  ])('with $wrong says so and where', ({ profile, says }) => {
    expect(faults(profile)).toContain(says);
  });

  it('tells all its faults at once', () => {
    expect(
      faults({ go: { url: 'x', method: 'PUT' }, read: { results: { items: '(' } } }).map(
        (fault) => fault.split(': ')[0],
      ),
    ).toEqual([
      'spec.profile.go.url',
      'spec.profile.go.method',
      'spec.profile.go',
      'spec.profile.read.results.items',
      'spec.profile.read.results.url',
    ]);
  });
});
