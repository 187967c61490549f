import { createServer, type RequestListener, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDemoServer, type DemoServer } from '../../demo/index.ts';
import { systemClock } from '../../runtime/index.ts';
import { createLog, portOf, startListening } from '../../telemetry/index.ts';
import type { CaptureResult } from '../outcome.ts';
import { createModelDriver, type ModelSettings } from './model.ts';

const log = createLog('test', 'silent');
let demo: DemoServer;
beforeAll(async () => {
  demo = await createDemoServer({ host: '127.0.0.1', port: 0 });
});
afterAll(() => demo.close());

type Asked = {
  query: string;
  timeoutMs?: number;
  signal?: AbortSignal;
  apiKey?: string | null;
  api?: ModelSettings['api'];
  webSearch?: boolean;
};

async function ask(
  endpoint: string,
  { query, timeoutMs = 8000, signal, apiKey = null, api = 'chat', webSearch = false }: Asked,
): Promise<CaptureResult> {
  const driver = createModelDriver({
    endpoint,
    model: 'demo-two',
    api,
    webSearch,
    providerId: 'demo',
    apiKey,
    clock: systemClock,
    log,
  });
  const task = {
    captureId: 'c',
    surface: 'assistant_two',
    query,
    region: { country: 'DE', state: 'BE', city: 'Berlin', language: 'de' },
    wantsProof: true,
    timeoutMs,
  } as const;
  try {
    return await driver.capture(task, signal ?? new AbortController().signal);
  } finally {
    await driver.close();
  }
}

const askDemo = (asked: Asked) => ask(`${demo.url}/v1`, asked);

/** Asks a server of this test's own, which knows how often it was asked. */
async function askServer(
  answer: (request: number) => RequestListener,
  asked: Asked,
): Promise<{ result: CaptureResult; requests: number }> {
  let requests = 0;
  const server: Server = createServer((request, response) => {
    requests += 1;
    request.resume();
    answer(requests)(request, response);
  });
  await startListening(server, '127.0.0.1', 0);
  try {
    return { result: await ask(`http://127.0.0.1:${portOf(server)}/v1/`, asked), requests };
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const sends =
  (status: number, type: string, body: string, headers: Record<string, string> = {}): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': type, ...headers }).end(body);
  };
const says = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ model: 'm', choices: [{ delta, finish_reason: finish }] })}\n\n`;
const EVENTS = 'text/event-stream';
const GOOD = says({ content: 'Hello' }, null) + says({}, 'stop');

describe('the model driver', () => {
  it('reads a streamed answer with its citations', async () => {
    const result = await askDemo({ query: 'running shoes [[unicode]]' });
    if (result.outcome !== 'completed') throw new Error(JSON.stringify(result));
    expect(result).toMatchObject({
      model: { providerId: 'demo', observedLabel: 'demo-two-2026-05-01', inferred: false, confidence: 1 },
      webSearch: true,
      effectiveRegion: null,
      proofHtml: null,
      evidence: { fanOut: { provenance: 'none', queries: [] } },
    });
    expect(result.answer.text).toContain('東京の利用者');
    expect(new Set(result.answer.blocks.map(({ type }) => type))).toEqual(
      new Set(['paragraph', 'heading', 'list', 'code']),
    );
    const { sources } = result.evidence;
    expect(sources.length).toBeGreaterThanOrEqual(3);
    for (const { cited, charRanges, url } of sources) {
      expect(cited).toBe(true);
      expect(new URL(url).hostname).toMatch(/\.example\.(com|org|net)$/);
      expect(charRanges).not.toEqual([]);
      // The demo writes its citations as links in parentheses; they are marks and no text.
      for (const { start, end } of charRanges) expect(result.answer.text.slice(start, end)).toMatch(/^[^()]+$/);
    }
    expect(result.signals.map(({ name }) => name)).toEqual(['first text', 'finished: stop']);
  });

  it('does not know whether the web was searched when nothing is cited', async () => {
    expect(await askDemo({ query: 'shoes [[nosources]]' })).toMatchObject({
      outcome: 'completed',
      webSearch: null,
      evidence: { sources: [] },
    });
  });

  it('reads 200 kB', async () => {
    const result = await askDemo({ query: 'shoes [[long]]' });
    expect(result.outcome === 'completed' ? result.answer.text.length : result).toBeGreaterThan(200_000);
  });

  it.each([
    { query: '[[empty]]', outcome: 'empty' },
    { query: '[[absent]]', outcome: 'empty' },
    { query: '[[blocked]]', outcome: 'blocked' },
    { query: '[[http:401]]', outcome: 'blocked' },
    { query: '[[http:400]]', outcome: 'unusable' },
    { query: '[[http:500]]', outcome: 'unusable' },
    { query: '[[crash]]', outcome: 'crashed' },
    { query: 'shoes [[stall]]', outcome: 'partial', timeoutMs: 1500 },
    { query: 'shoes [[slow:5000]]', outcome: 'timeout', timeoutMs: 600 },
    { query: 'shoes [[http:429]]', outcome: 'blocked', timeoutMs: 1500 },
    { query: 'shoes [[http:503]]', outcome: 'unusable', timeoutMs: 1500 },
  ])('ends $query as $outcome', async ({ query, outcome, timeoutMs }) => {
    const result = await askDemo({ query, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
    expect(result.outcome).toBe(outcome);
  });

  it('is canceled by its signal', async () => {
    expect((await askDemo({ query: 'shoes [[stall]]', signal: AbortSignal.timeout(300) })).outcome).toBe('canceled');
  });

  it('finds an endpoint unusable that nobody listens at', async () => {
    const gone = await createDemoServer({ host: '127.0.0.1', port: 0 });
    await gone.close();
    const result = await ask(`${gone.url}/v1`, { query: 'shoes' });
    expect(result).toMatchObject({ outcome: 'unusable', detail: 'The model endpoint can not be reached.' });
  });

  it.each([
    { manner: 'in seconds', header: '1' },
    { manner: 'as a date', header: () => new Date(Date.now() + 1000).toUTCString() },
    { manner: 'not at all', header: undefined },
  ])('asks a busy endpoint again when Retry-After says so $manner', async ({ header }) => {
    const retryAfter = typeof header === 'function' ? header() : header;
    const busy = sends(429, 'text/plain', '', retryAfter === undefined ? {} : { 'retry-after': retryAfter });
    const { result, requests } = await askServer((count) => (count === 1 ? busy : sends(200, EVENTS, GOOD)), {
      query: 'x',
    });
    expect(result).toMatchObject({ outcome: 'completed', answer: { text: 'Hello' } });
    expect(requests).toBe(2);
  });

  it('does not wait for a Retry-After beyond the deadline', async () => {
    const { result, requests } = await askServer(() => sends(429, 'text/plain', '', { 'retry-after': '60' }), {
      query: 'x',
    });
    expect(result).toMatchObject({ outcome: 'blocked', detail: 'The model endpoint answered HTTP 429.' });
    expect(requests).toBe(1);
  });

  it.each([
    { what: 'a web page', answer: sends(200, 'text/html', '<p>hi'), outcome: 'unusable' },
    { what: 'broken JSON in an event', answer: sends(200, EVENTS, 'data: {\n\n'), outcome: 'unusable' },
    { what: 'an error in an event', answer: sends(200, EVENTS, 'data: {"error":{}}\n\n'), outcome: 'unusable' },
    { what: 'JSON of another kind', answer: sends(200, 'application/json', '{"a":1}'), outcome: 'unusable' },
    {
      what: 'a redirect',
      answer: sends(302, 'text/plain', '', { location: 'http://127.0.0.1:1/' }),
      outcome: 'unusable',
    },
    { what: 'events that just end', answer: sends(200, EVENTS, says({ content: 'Hel' }, null)), outcome: 'crashed' },
    {
      what: 'an answer cut by its length limit',
      answer: sends(200, EVENTS, says({ content: 'Hel' }, 'length')),
      outcome: 'partial',
    },
    {
      what: 'a filtered answer',
      answer: sends(200, EVENTS, says({ content: 'Hel' }, 'content_filter')),
      outcome: 'blocked',
    },
    { what: 'a refusal', answer: sends(200, EVENTS, says({ refusal: 'No.' }, 'stop')), outcome: 'completed' },
    {
      what: 'a whole completion',
      answer: sends(200, 'application/json', '{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'),
      outcome: 'completed',
    },
  ])('ends $what as $outcome', async ({ answer, outcome }) => {
    expect((await askServer(() => answer, { query: 'x' })).result.outcome).toBe(outcome);
  });

  it('sends the query as it is, and the key as a bearer', async () => {
    let seen = '';
    let key: string | undefined;
    const answer: RequestListener = (request, response) => {
      key = request.headers.authorization;
      request.on('data', (chunk: Buffer) => (seen += chunk.toString()));
      request.on('end', () => response.writeHead(200, { 'content-type': EVENTS }).end(GOOD));
    };
    await askServer(() => answer, { query: 'line 1\nline "2" 🦊', apiKey: 'sk-secret' });
    expect(JSON.parse(seen)).toEqual({
      model: 'demo-two',
      stream: true,
      messages: [{ role: 'user', content: 'line 1\nline "2" 🦊' }],
    });
    expect(key).toBe('Bearer sk-secret');
  });
});

/** One event of the Responses API. */
const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const text = (words: string, annotations: object[] = []) => ({ type: 'output_text', text: words, annotations });
const message = (...content: object[]) => ({ type: 'message', role: 'assistant', content });
const citation = (url: string, start_index: number, end_index: number) => ({
  type: 'url_citation',
  url,
  title: `About ${url}`,
  start_index,
  end_index,
});
const ended = (status: string, output: object[], more: object = {}) =>
  event(`response.${status}`, { response: { status, model: 'm-1', output, ...more } });

function cites(result: CaptureResult): [string, string, boolean, string[]][] {
  if (result.outcome !== 'completed') throw new Error(JSON.stringify(result));
  return result.evidence.sources.map(({ url, title, cited, charRanges }) => [
    url,
    title,
    cited,
    charRanges.map(({ start, end }) => result.answer.text.slice(start, end)),
  ]);
}

describe('the responses API', () => {
  const answered = message(text('One is big. Two.', [citation('https://a.example/', 0, 11)]));

  it.each([
    {
      what: 'streamed',
      answer: sends(200, EVENTS, event('response.output_text.delta', { delta: 'x' }) + ended('completed', [answered])),
    },
    {
      what: 'whole',
      answer: sends(
        200,
        'application/json; charset=utf-8',
        JSON.stringify({ status: 'completed', model: 'm-1', output: [answered] }),
      ),
    },
  ])('gives its answer $what, with citations and model', async ({ answer }) => {
    const { result } = await askServer(() => answer, { query: 'x', api: 'responses' });
    expect(cites(result)).toEqual([['https://a.example/', 'About https://a.example/', true, ['One is big.']]]);
    expect(result).toMatchObject({ webSearch: true, model: { observedLabel: 'm-1', confidence: 1 } });
  });

  it('is asked for what the lane says, near the place of the search', async () => {
    let seen: unknown;
    const answer: RequestListener = (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen = { url: request.url, body: JSON.parse(body) as unknown };
        response.writeHead(200, { 'content-type': EVENTS }).end(ended('completed', [answered]));
      });
    };
    await askServer(() => answer, { query: 'why?', api: 'responses' });
    expect(seen).toEqual({
      url: '/v1/responses',
      body: { model: 'demo-two', stream: true, store: false, input: 'why?' },
    });
    const { result } = await askServer(() => answer, { query: 'why?', api: 'responses', webSearch: true });
    expect(seen).toMatchObject({
      body: {
        tools: [
          { type: 'web_search', user_location: { type: 'approximate', country: 'DE', region: 'BE', city: 'Berlin' } },
        ],
      },
    });
    expect(result).toMatchObject({ effectiveRegion: { country: 'DE', state: 'BE', city: 'Berlin' } });
  });

  it('tells which searches were made, and that none was made where one could have been', async () => {
    const calls = [
      { type: 'web_search_call', action: { type: 'search', query: 'bikes' } },
      { type: 'web_search_call', action: { type: 'search', queries: ['best bikes', 'bikes 2026'] } },
      { type: 'web_search_call', action: { type: 'open_page', url: 'https://a.example/' } },
    ];
    const said = message(text('Yes.'));
    const searched = await askServer(() => sends(200, EVENTS, ended('completed', [...calls, said])), {
      query: 'x',
      api: 'responses',
      webSearch: true,
    });
    expect(searched.result).toMatchObject({
      webSearch: true,
      evidence: { fanOut: { provenance: 'observed', queries: ['bikes', 'best bikes', 'bikes 2026'] } },
    });
    const not = await askServer(() => sends(200, EVENTS, ended('completed', [said])), {
      query: 'x',
      api: 'responses',
      webSearch: true,
    });
    expect(not.result).toMatchObject({ webSearch: false, evidence: { fanOut: { provenance: 'none' } } });
  });

  it('counts the offsets of each part from its own start', async () => {
    const parts = [text('🚲 One. '), text('Two is big.', [citation('https://b.example/', 0, 11)])];
    const output = [message(...parts), message(text('Three.', [citation('https://c.example/', 0, 6)]))];
    const { result } = await askServer(() => sends(200, EVENTS, ended('completed', output)), {
      query: 'x',
      api: 'responses',
    });
    expect(result).toMatchObject({ answer: { text: '🚲 One. Two is big.\n\nThree.' } });
    expect(cites(result).map(([, , , texts]) => texts)).toEqual([['Two is big.'], ['Three.']]);
  });

  it('is read from its events where the last one holds no output', async () => {
    const events =
      event('response.created', { response: { model: 'm-2' } }) +
      event('response.output_item.added', { item: { type: 'message' } }) +
      event('response.output_text.delta', { delta: 'Hel' }) +
      event('response.output_text.delta', { delta: 'lo' }) +
      event('response.output_text.done', { text: 'Hello' }) +
      ended('completed', []);
    const { result } = await askServer(() => sends(200, EVENTS, events), { query: 'x', api: 'responses' });
    expect(result).toMatchObject({ outcome: 'completed', answer: { text: 'Hello' }, model: { observedLabel: 'm-1' } });
    expect(result).toMatchObject({ signals: [{ name: 'first text' }, { name: 'finished: stop' }] });
  });

  const cut = event('response.output_text.delta', { delta: 'Hel' });
  it.each([
    {
      what: 'cut at its length limit',
      events: ended('incomplete', [message(text('Hel'))], { incomplete_details: { reason: 'max_output_tokens' } }),
      outcome: 'partial',
    },
    {
      what: 'filtered',
      events: ended('incomplete', [message(text('Hel'))], { incomplete_details: { reason: 'content_filter' } }),
      outcome: 'blocked',
    },
    {
      what: 'a refusal',
      events: ended('completed', [message({ type: 'refusal', refusal: 'No.' })]),
      outcome: 'completed',
    },
    { what: 'nothing', events: ended('completed', []), outcome: 'empty' },
    { what: 'failed', events: ended('failed', [], { error: { code: 'server_error' } }), outcome: 'unusable' },
    { what: 'an error', events: cut + event('error', { message: 'overloaded' }), outcome: 'unusable' },
    { what: 'a stream that just ends', events: cut, outcome: 'crashed' },
  ])('ends an answer that is $what as $outcome', async ({ events, outcome }) => {
    const { result } = await askServer(() => sends(200, EVENTS, events), { query: 'x', api: 'responses' });
    expect(result.outcome).toBe(outcome);
  });

  it('is partial where the stream stalls until the deadline', async () => {
    const stalls: RequestListener = (_, response) =>
      void response.writeHead(200, { 'content-type': EVENTS }).write(cut);
    const { result } = await askServer(() => stalls, { query: 'x', api: 'responses', timeoutMs: 500 });
    expect(result).toMatchObject({ outcome: 'partial', answer: { text: 'Hel' } });
  });
});

describe('marks of citations in a model answer', () => {
  const whole = (content: string, more: object = {}, annotations: object[] = []) =>
    sends(
      200,
      'application/json',
      JSON.stringify({ choices: [{ message: { content, annotations }, finish_reason: 'stop' }], ...more }),
    );
  const annotate = (content: string, part: string, url: string, count: (text: string) => number) => {
    const start = content.indexOf(part);
    const [start_index, end_index] = [start, start + part.length].map((at) => count(content.slice(0, at)));
    return { type: 'url_citation', url_citation: { url, title: 'A', start_index, end_index } };
  };

  it.each([
    { unit: 'code units', count: (text: string) => text.length },
    { unit: 'code points', count: (text: string) => Array.from(text).length },
  ])('are links in parentheses whose place is counted in $unit', async ({ count }) => {
    const mark = '([a.example](https://a.example/x?utm_source=m))';
    const content = `🚲🚲🚲 First. Bikes 🚲 are light. ${mark} They last.`;
    const annotation = annotate(content, mark, 'https://a.example/x', count);
    const { result } = await askServer(() => whole(content, {}, [annotation]), { query: 'x' });
    expect(result).toMatchObject({ answer: { text: '🚲🚲🚲 First. Bikes 🚲 are light. They last.' } });
    expect(cites(result)).toEqual([['https://a.example/x', 'A', true, ['Bikes 🚲 are light.']]]);
  });

  it('are numbers that refer to sources named beside the text', async () => {
    const results = [
      { url: 'https://a.example/', title: 'A' },
      { url: 'https://b.example/', title: 'B' },
    ];
    const { result } = await askServer(
      () =>
        whole('One is big.[1][2] Two `[1]` [3].', {
          citations: results.map(({ url }) => url),
          search_results: results,
        }),
      { query: 'x' },
    );
    expect(result).toMatchObject({ webSearch: true, answer: { text: 'One is big. Two [1] [3].' } });
    expect(cites(result)).toEqual([
      ['https://a.example/', 'A', true, ['One is big.']],
      ['https://b.example/', 'B', true, ['One is big.']],
    ]);
  });

  it('are links whose text is only a number or the host', async () => {
    const { result } = await askServer(
      () =>
        whole(
          'One is big [1](https://a.example/). Two [b.example](https://b.example/x). See [this](https://c.example/).',
        ),
      { query: 'x' },
    );
    expect(result).toMatchObject({ answer: { text: 'One is big. Two. See this.' } });
    expect(cites(result).map(([url, , , texts]) => [url, texts])).toEqual([
      ['https://a.example/', ['One is big']],
      ['https://b.example/x', ['Two']],
      ['https://c.example/', ['this']],
    ]);
  });
});

describe('a stream of events', () => {
  it.each([
    { how: 'with CRLF and comments', stream: `: hi\r\n\r\n${GOOD.replaceAll('\n', '\r\n')}` },
    { how: 'with an event over several data lines', stream: GOOD.replace('"choices"', '\ndata: "choices"') },
    { how: 'with a byte order mark', stream: `\uFEFF${GOOD}` },
    { how: 'without the last empty line', stream: GOOD.trimEnd() },
    { how: 'with [DONE] and no reason to finish', stream: `${says({ content: 'Hello' }, null)}data: [DONE]\n\n` },
  ])('is read $how', async ({ stream }) => {
    const { result } = await askServer(() => sends(200, EVENTS, stream), { query: 'x' });
    expect(result).toMatchObject({ outcome: 'completed', answer: { text: 'Hello' } });
  });

  it('may be cut anywhere, also inside a character', async () => {
    const bytes = Buffer.from(says({ content: 'Grüße 🚲' }, 'stop'));
    const drips: RequestListener = (_, response) => {
      response.writeHead(200, { 'content-type': EVENTS });
      const dripFrom = (at: number): void => {
        if (at === bytes.length) response.end();
        else response.write(bytes.subarray(at, at + 1), () => dripFrom(at + 1));
      };
      dripFrom(0);
    };
    const { result } = await askServer(() => drips, { query: 'x' });
    expect(result).toMatchObject({ outcome: 'completed', answer: { text: 'Grüße 🚲' } });
  });
});
