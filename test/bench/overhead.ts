import { chromium, type Browser } from 'playwright-core';
import { locateBrowser, type Profile } from '../../pkg/capture/index.ts';
import { createDemoServer } from '../../pkg/demo/index.ts';
import { loadLanes } from '../../pkg/lanes/index.ts';
import { openOurs, timeAlone } from './contenders.ts';
import { median, type Row } from './table.ts';

const ROUNDS = 5;
const POLL_MS = 10;
const LANES_DIR = new URL('../../config/lanes', import.meta.url).pathname;

/** What a person does there and sees, as the lanes' own steps and markers say it. */
type Look = { surface: string; field?: string; button?: string; done: string; open?: string };
const LOOKS: readonly Look[] = [
  {
    surface: 'assistant_one',
    field: '#prompt',
    button: '#send',
    done: '.turn.assistant:not(.streaming) .copy',
  },
  {
    surface: 'assistant_three',
    field: 'textarea',
    button: 'button.ask',
    done: 'chat-turn[data-state="done"]',
    open: '.open-sources',
  },
  {
    surface: 'assistant_five',
    field: '#ask',
    button: '[data-testid="submit"]',
    done: '.answer[data-status="complete"]',
  },
  { surface: 'engine_ai_overview', done: '#ai-box[aria-busy="false"]', open: '.show-more' },
  { surface: 'engine_ai_mode', done: '.reply[data-progress="100"]' },
  { surface: 'engine_search', done: 'footer' },
  { surface: 'engine_news', done: 'footer' },
];

/**
 * What a capture takes beyond the page's own time. That is how long a bare script needs to see the whole answer: it goes
 * there, asks, looks every 10 ms whether the page says that it is done, and opens what the page hides of its answer; its
 * context is open before the time starts, as our pool's is. Ours is the lane as it is shipped, so 200 ms of each are the
 * quiet that it waits for to be sure; where something is opened before reading, quiet is waited for again.
 */
export async function benchOverhead(): Promise<Row[]> {
  const demo = await createDemoServer({ host: '127.0.0.1', port: 0 });
  const lanes = await loadLanes(LANES_DIR, { replaceOrigin: { 'http://127.0.0.1:8090': demo.url } });
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: await locateBrowser({}), args });
  try {
    const all: Times[] = [];
    for (const look of LOOKS) {
      const lane = lanes.find(({ spec }) => spec.surface === look.surface);
      if (lane?.spec.driver !== 'browser') throw new Error(`${look.surface} has no browser lane`);
      const times = await compare(browser, `${demo.url}/${look.surface}?q=bench`, look, lane.spec.profile);
      const more = times.map(({ ours, page }) => ours - page);
      console.log(`        ${look.surface}: +${median(more).toFixed(0)} ms`);
      all.push(...times);
    }
    return [toRow(all)];
  } finally {
    await browser.close();
    await demo.close();
  }
}

type Times = { ours: number; page: number };

/** The median is of the differences: pages take differently long. */
function toRow(times: readonly Times[]): Row {
  const page = median(times.map((one) => one.page));
  return {
    name: "capture of all demo surfaces: beyond the page's own time",
    ours: page + median(times.map((one) => one.ours - one.page)),
    bare: page,
    unit: 'ms',
    atMostMore: 250,
  };
}

async function compare(browser: Browser, url: string, look: Look, profile: Profile): Promise<Times[]> {
  const ours = await openOurs(profile, 1);
  const times: Times[] = [];
  try {
    for (let warmUp = 0; warmUp < 2; warmUp += 1) {
      await ours.capture();
      await watch(browser, url, look);
    }
    for (let round = 0; round < ROUNDS; round += 1)
      times.push({ ours: await timeAlone(ours.capture), page: await watch(browser, url, look) });
  } finally {
    await ours.close();
  }
  return times;
}

/** Also inside shadow roots. */
function isShown(selector: string): string {
  const find = `(find, root) => root.querySelector(${JSON.stringify(selector)}) !== null ||
    [...root.querySelectorAll('*')].some(({ shadowRoot }) => shadowRoot !== null && find(find, shadowRoot))`;
  return `((find) => find(find, document))(${find})`;
}

async function watch(browser: Browser, url: string, { field, button, done, open }: Look): Promise<number> {
  const context = await browser.newContext();
  try {
    const tab = await context.newPage();
    return await timeAlone(async () => {
      await tab.goto(url, { waitUntil: 'commit' });
      if (field !== undefined && button !== undefined) {
        await tab.fill(field, 'bench');
        await tab.click(button);
      }
      await tab.waitForFunction(isShown(done), undefined, { polling: POLL_MS });
      if (open !== undefined) await tab.click(open);
    });
  } finally {
    await context.close();
  }
}
