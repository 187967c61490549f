import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDemoServer, type DemoServer } from './index.ts';

let demo: DemoServer;
beforeAll(async () => {
  demo = await createDemoServer({ host: '127.0.0.1', port: 0 });
});
afterAll(() => demo.close());

const get = (path: string) => fetch(demo.url + path, { redirect: 'manual', signal: AbortSignal.timeout(10_000) });
const engine = (surface: string, query: string, more = '') => get(`/${surface}?q=${encodeURIComponent(query)}${more}`);
const ENGINES = ['engine_search', 'engine_news', 'engine_ai_overview', 'engine_ai_mode'];
const CHATS = ['assistant_one', 'assistant_three', 'assistant_five'];

function complete(query: string, stream: boolean, signal = AbortSignal.timeout(10_000)): Promise<Response> {
  return fetch(`${demo.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', stream, messages: [{ role: 'user', content: query }] }),
    signal,
  });
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

describe('the demo server', () => {
  it('is healthy and lists its surfaces', async () => {
    expect(await (await get('/healthz')).json()).toEqual({ status: 'ok' });
    const index = await (await get('/')).text();
    for (const surface of [...ENGINES, ...CHATS, 'assistant_two']) expect(index).toContain(surface);
  });

  it('says so when its port is taken', async () => {
    const port = Number(new URL(demo.url).port);
    await expect(createDemoServer({ host: '127.0.0.1', port })).rejects.toThrow('EADDRINUSE');
  });

  it('closes although a stalled page holds its connection', async () => {
    const other = await createDemoServer({ host: '127.0.0.1', port: 0 });
    const held = await fetch(`${other.url}/engine_search?q=${encodeURIComponent('[[stall]]')}`);
    await other.close();
    await expect(held.text()).rejects.toThrow();
  });

  it.each([...ENGINES, ...CHATS])(
    '%s is a challenge with [[blocked]] and an error with [[http:NNN]]',
    async (surface) => {
      const blocked = await engine(surface, 'x [[blocked]]');
      expect(blocked.status).toBe(403);
      expect(await blocked.text()).toContain('id="challenge"');
      expect((await engine(surface, 'x [[http:502]]')).status).toBe(502);
    },
  );

  it.each([...ENGINES, ...CHATS])('%s never shows a directive', async (surface) => {
    expect(await (await engine(surface, 'shoes [[consent]] [[unicode]]')).text()).not.toContain('[[');
  });

  it.each(ENGINES)('%s speaks the language that it is asked for', async (surface) => {
    const german = await (await engine(surface, 'shoes', '&hl=de-DE&gl=DE')).text();
    expect(german).toContain('<html lang="de-DE">');
    expect(german).toContain('de-DE · DE');
    expect(german).toMatch(/Suchergebnisse|Nachrichten|Übersicht mit KI|Quellen/);
    expect(await (await engine(surface, 'shoes')).text()).toContain('<html lang="en">');
  });

  it('takes a query of 2,000 characters of four bytes', async () => {
    expect((await engine('engine_search', '🦊'.repeat(2000))).status).toBe(200);
  });
});

describe('the result pages', () => {
  it.each([
    { surface: 'engine_search', item: 'class="result"', nothing: 'id="no-results"' },
    { surface: 'engine_news', item: 'class="story"', nothing: 'class="no-news"' },
  ])('$surface lists results, or says that there are none', async ({ surface, item, nothing }) => {
    const found = await (await engine(surface, 'shoes')).text();
    expect(count(found, item)).toBeGreaterThanOrEqual(3);
    expect(found).not.toContain(nothing);
    const absent = await (await engine(surface, 'shoes [[absent]]')).text();
    expect(count(absent, item)).toBe(0);
    expect(absent).toContain(nothing);
    const empty = await (await engine(surface, 'shoes [[empty]]')).text();
    expect(count(empty, item)).toBe(0);
    expect(empty).not.toContain(nothing);
    expect((await (await engine(surface, 'shoes [[long]]')).text()).length).toBeGreaterThan(200_000);
  });

  it('wraps links in a redirector that leads to the tracked target', async () => {
    const page = await (await engine('engine_search', 'shoes')).text();
    const href = /href="(\/url\?[^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const target = (await get(href)).headers.get('location');
    expect(target).toMatch(/^https:\/\/[a-z-]+\.example\.(com|org|net)\/.*utm_source=demo$/);
    expect((await get('/url?q=javascript:alert(1)')).status).toBe(400);
  });
});

describe('the model', () => {
  it('answers whole, with citations in its text', async () => {
    const reply = await (await complete('shoes', false)).text();
    expect(reply).toContain('url_citation');
    expect(JSON.parse(reply)).toMatchObject({ choices: [{ message: { role: 'assistant' }, finish_reason: 'stop' }] });
  });

  it('says the same when it streams', async () => {
    const events = (await (await complete('shoes', true)).text()).split('\n\n').filter((event) => event !== '');
    expect(events.at(-1)).toBe('data: [DONE]');
    const said = events.slice(0, -1).map(readDelta).join('');
    expect(said).toContain('reviewers');
    expect(await (await complete('shoes', false)).text()).toContain(`"content":"${said}"`);
  });

  it.each([
    { query: '[[blocked]]', status: 403 },
    { query: '[[http:429]]', status: 429 },
    { query: '[[http:500]]', status: 500 },
  ])('answers $query with $status', async ({ query, status }) => {
    expect((await complete(query, true)).status).toBe(status);
  });

  it.each(['[[empty]]', '[[absent]]'])('answers %s without text', async (query) => {
    expect(await (await complete(query, false)).json()).toMatchObject({
      choices: [{ message: { content: '' }, finish_reason: 'stop' }],
    });
  });

  it('breaks the connection with [[crash]]', async () => {
    await expect((await complete('[[crash]]', true)).text()).rejects.toThrow();
  });

  it('stops mid-answer with [[stall]] and never finishes', async () => {
    const response = await complete('shoes [[stall]]', true, AbortSignal.timeout(1500));
    const body: AsyncIterable<Uint8Array> | null = response.body;
    let text = '';
    const reading = (async () => {
      for await (const chunk of body ?? []) text += Buffer.from(chunk).toString();
    })();
    await expect(reading).rejects.toThrow('timeout');
    expect(text).toContain('reviewers');
    expect(text).not.toContain('[DONE]');
  });

  it('refuses a request without a question', async () => {
    const response = await fetch(`${demo.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(response.status).toBe(400);
  });
});

/** What a chunk adds to the answer, still written as in JSON. */
function readDelta(event: string): string {
  return /"content":"((?:[^"\\]|\\.)*)"/.exec(event)?.[1] ?? '';
}
