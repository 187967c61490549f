import { createServer, type RequestListener, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDemoServer, type DemoServer } from '../../demo/index.ts';
import { systemClock } from '../../runtime/index.ts';
import { createLog, portOf, startListening } from '../../telemetry/index.ts';
import type { CaptureResult } from '../outcome.ts';
import { createModelDriver } from './model.ts';

const log = createLog('test', 'silent');
let demo: DemoServer;
beforeAll(async () => {
  demo = await createDemoServer({ host: '127.0.0.1', port: 0 });
});
afterAll(() => demo.close());

type Asked = { query: string; timeoutMs?: number; signal?: AbortSignal; apiKey?: string | null };

async function ask(
  endpoint: string,
  { query, timeoutMs = 8000, signal, apiKey = null }: Asked,
): Promise<CaptureResult> {
  const driver = createModelDriver({
    endpoint,
    model: 'demo-two',
    providerId: 'demo',
    apiKey,
    clock: systemClock,
    log,
  });
  const task = {
    captureId: 'c',
    surface: 'assistant_two',
    query,
    region: { country: 'DE' },
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
      for (const { start, end } of charRanges) expect(result.answer.text.slice(start, end).trim()).not.toBe('');
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
