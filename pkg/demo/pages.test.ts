import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { findProgram } from '../runtime/index.ts';
import { createDemoServer, type DemoServer } from './index.ts';

let demo: DemoServer;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  demo = await createDemoServer({ host: '127.0.0.1', port: 0 });
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
  const executablePath = await findProgram(names, process.env['PATH'] ?? '');
  if (executablePath === undefined) throw new Error('these tests need Chromium on PATH');
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: 20_000 });
});
beforeEach(async () => {
  context = await browser.newContext();
  page = await context.newPage();
  page.setDefaultTimeout(8000);
});
afterEach(() => context.close());
afterAll(async () => {
  await browser.close();
  await demo.close();
});

type Look = {
  surface: string;
  /** Where a chat's question goes; an engine has it in its URL. */
  field?: string;
  send?: string;
  answer: string;
  done: string;
  links: string;
};

const ONE: Look = {
  surface: 'assistant_one',
  field: '#prompt',
  send: '#send',
  answer: '.turn.assistant .markdown',
  done: '.turn.assistant:not(.streaming) .copy',
  links: '.markdown a',
};
const THREE: Look = {
  surface: 'assistant_three',
  field: 'textarea',
  send: '.ask',
  answer: 'chat-turn .body',
  done: 'chat-turn[data-state="done"]',
  links: 'chat-turn .chip',
};
const FIVE: Look = {
  surface: 'assistant_five',
  field: '#ask',
  send: '[data-testid="submit"]',
  answer: '.answer',
  done: '.answer[data-status="complete"]',
  links: '.answer a.footnote',
};
const OVERVIEW: Look = {
  surface: 'engine_ai_overview',
  answer: '.overview',
  done: '#ai-box[aria-busy="false"]',
  links: '.overview a.cite',
};
const MODE: Look = {
  surface: 'engine_ai_mode',
  answer: '.reply',
  done: '.reply[data-progress="100"]',
  links: '.reply a.pill',
};
const SEARCH: Look = { surface: 'engine_search', answer: '#results', done: 'footer', links: '#results a.title' };
const NEWS: Look = { surface: 'engine_news', answer: '.stories', done: 'footer', links: '.stories a.card' };

const CHATS = [ONE, THREE, FIVE];
const STREAMING = [...CHATS, OVERVIEW, MODE];
const ALL = [...STREAMING, SEARCH, NEWS];
const LAST_PARAGRAPH = 'Prices and features change';

async function open({ surface, field }: Look, query: string): Promise<void> {
  // A chat is opened without its question here, so that asking itself is seen to work.
  const search = field === undefined ? `?q=${encodeURIComponent(query)}` : '';
  await page.goto(`${demo.url}/${surface}${search}`, { waitUntil: 'commit' });
}

async function ask(look: Look, query: string): Promise<void> {
  await open(look, query);
  await submit(look, query);
}

async function submit(look: Look, query: string): Promise<void> {
  if (look.field === undefined || look.send === undefined) return;
  await page.locator(look.field).fill(query);
  await page.locator(look.send).click();
}

const textOf = ({ answer }: Look): Promise<string> => page.locator(answer).innerText();

/** Every distinct length that the text had until it was done. */
async function watchGrowth(look: Look): Promise<number[]> {
  const lengths = new Set<number>();
  while (!(await page.locator(look.done).isVisible())) lengths.add((await textOf(look).catch(() => '')).length);
  return [...lengths];
}

// How each behaviour ends, refusals and crashes included, is in test/integration/outcomes.test.ts.
describe('a demo page', () => {
  it.each(STREAMING)('$surface shows its answer bit by bit', async (look) => {
    await ask(look, 'running shoes');
    await page.locator(look.answer).waitFor({ state: 'attached' });
    expect((await watchGrowth(look)).length).toBeGreaterThan(1);
    expect(await page.locator(look.links).count()).toBeGreaterThan(2);
    expect(await page.locator('body').innerText()).not.toContain('[[');
  });

  it.each(STREAMING)('$surface never finishes with [[stall]]', async (look) => {
    await ask(look, 'shoes [[stall]]');
    await page.waitForFunction(shows(look, 'reviewers'));
    await expect(page.locator(look.done).waitFor({ timeout: 600 })).rejects.toThrow('Timeout');
    expect(await textOf(look)).not.toContain(LAST_PARAGRAPH);
  });

  it.each(STREAMING)('$surface has no text before [[slow:MS]] is over', async (look) => {
    await ask(look, 'shoes [[slow:900]]');
    const startedMs = performance.now();
    await page.waitForFunction(shows(look, 'reviewers'));
    expect(performance.now() - startedMs).toBeGreaterThan(700);
  });

  it.each([ONE, THREE, FIVE, MODE])(
    '$surface changes its last paragraph after seeming done with [[edit]]',
    async (look) => {
      await open(look, 'shoes [[edit]]');
      // Looked for inside the page: from outside, the moment between done and edited is easily missed.
      const seenBefore = page.waitForFunction(`${shows(look, LAST_PARAGRAPH)} && ${shows(look, '', look.done)}`);
      await Promise.all([seenBefore, submit(look, 'shoes [[edit]]')]);
      await page.getByText('After a second look').waitFor();
      expect(await textOf(look)).not.toContain(LAST_PARAGRAPH);
    },
  );

  it.each(STREAMING)('$surface shows 200 kB with [[long]]', async (look) => {
    await ask(look, 'shoes [[long]]');
    await page.locator(look.done).waitFor();
    if (look === OVERVIEW) await page.locator('.show-more').click();
    expect((await textOf(look)).length).toBeGreaterThan(200_000);
  });

  it.each(STREAMING)('$surface shows every script with [[unicode]], and no link with [[nosources]]', async (look) => {
    await ask(look, 'shoes [[unicode]] [[nosources]]');
    await page.locator(look.done).waitFor();
    if (look === OVERVIEW) await page.locator('.show-more').click();
    expect(await textOf(look)).toMatch(/👩‍👩‍👧‍👦[^]*東京[^]*السعر/);
    expect(await page.locator(look.links).count()).toBe(0);
  });

  it.each(ALL)(
    '$surface does nothing until its [[consent]] overlay is dismissed',
    async ({ surface, field, answer }) => {
      await page.goto(`${demo.url}/${surface}?q=${encodeURIComponent('shoes [[consent]]')}`);
      expect(await page.getByRole('button', { name: 'Accept all' }).isVisible()).toBe(true);
      const needed = page.locator(field ?? answer);
      expect(await needed.isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Reject all' }).click();
      expect(await page.locator('.consent').count()).toBe(0);
      await (field === undefined ? page.getByText(/\S/).first() : needed).waitFor();
    },
  );

  it('assistant_one shows its follow-up searches and a stop button only while it streams', async () => {
    await ask(ONE, 'shoes [[slow:500]]');
    await page.locator('.search').nth(2).waitFor();
    expect(await page.locator('#stop').isVisible()).toBe(true);
    await page.locator(ONE.done).waitFor();
    expect(await page.locator('.search').count()).toBe(0);
    expect(await page.locator('#stop').isVisible()).toBe(false);
  });

  it('assistant_one stops answering when it is told to', async () => {
    await ask(ONE, 'shoes [[stall]]');
    await page.locator('#stop').click();
    await page.locator('#send').waitFor();
    expect(await textOf(ONE)).not.toContain(LAST_PARAGRAPH);
  });

  it('assistant_three lists the sources of its chips when the list is opened', async () => {
    await ask(THREE, 'shoes');
    await page.locator(THREE.done).waitFor();
    expect(await page.locator('.sources a').count()).toBe(0);
    await page.locator('.open-sources').click();
    const chips = await readReferences('.chip');
    const listed = await readReferences('.sources li');
    expect(chips.length).toBeGreaterThan(2);
    expect(listed).toEqual(expect.arrayContaining(chips));
  });

  it('assistant_five replaces its answer node while it streams, and shows tables and code', async () => {
    // Noted in the page: whoever only looks may come when the node has been replaced already.
    await page.addInitScript(`
      globalThis.answerNodes = new Set();
      new MutationObserver(() => {
        for (const node of document.querySelectorAll('.answer')) globalThis.answerNodes.add(node);
      }).observe(document, { childList: true, subtree: true });
    `);
    await ask(FIVE, 'shoes [[slow:300]]');
    await page.locator(FIVE.done).waitFor();
    expect(await page.evaluate('globalThis.answerNodes.size')).toBeGreaterThan(1);
    expect(await page.locator('.answer table td').count()).toBeGreaterThan(3);
    expect(await page.locator('.answer code.language-python').count()).toBe(1);
  });

  it('engine_ai_overview shows the rest after "Show more", and no box with [[absent]]', async () => {
    await ask(OVERVIEW, 'shoes');
    await page.locator(OVERVIEW.done).waitFor();
    expect(await textOf(OVERVIEW)).not.toContain(LAST_PARAGRAPH);
    await page.locator('.show-more').click();
    expect(await textOf(OVERVIEW)).toContain(LAST_PARAGRAPH);
    await ask(OVERVIEW, 'shoes [[absent]]');
    await page.locator('main[data-ai="none"]').waitFor();
    expect(await page.locator('#ai-box').count()).toBe(0);
    expect(await page.locator('.result').count()).toBeGreaterThan(2);
  });

  it('engine_ai_mode lists sources beside its answer, and is not offered with [[absent]]', async () => {
    await ask(MODE, 'shoes');
    await page.locator('.panel .source-card a').nth(2).waitFor();
    await ask(MODE, 'shoes [[absent]]');
    await page.locator('#not-offered').waitFor();
  });
});

/** An expression for the page: does the node that is found in the document or an open shadow root hold this text? */
function shows({ answer }: Look, text: string, selector = answer): string {
  const inner = JSON.stringify(selector.split(' ').at(-1));
  return `((find) => find(document, find)?.textContent.includes(${JSON.stringify(text)}) ?? false)(
    (root, find) => root.querySelector(${inner}) ??
      [...root.querySelectorAll('*')].map((node) => node.shadowRoot && find(node.shadowRoot, find)).find(Boolean))`;
}

/** The numbers by which chips and entries of the source list name each other. */
async function readReferences(selector: string): Promise<(string | null)[]> {
  const nodes = await page.locator(selector).all();
  return Promise.all(nodes.map((node) => node.getAttribute('data-source')));
}
