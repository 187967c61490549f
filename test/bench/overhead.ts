import { chromium, type Browser } from 'playwright-core';
import { locateBrowser, type Profile } from '../../pkg/capture/index.ts';
import { createDemoServer } from '../../pkg/demo/index.ts';
import { loadLanes } from '../../pkg/lanes/index.ts';
import { openOurs, time } from './contenders.ts';
import { median, type Row } from './table.ts';

const ROUNDS = 25;
const POLL_MS = 10;
const LANES_DIR = new URL('../../config/lanes', import.meta.url).pathname;
/** As the lanes' own markers say it, and asked by URL or by hand. */
const PAGES = [
  { surface: 'assistant_one', field: '#prompt', button: '#send', done: '.turn.assistant:not(.streaming) .copy' },
  { surface: 'engine_ai_overview', field: null, button: null, done: '#ai-box[aria-busy="false"]' },
] as const;

/**
 * What a capture takes beyond the page's own time. That is how long a bare script sees the page work, from going there
 * to its last change, looking every 10 ms; its context is open before the time starts.
 */
export async function benchOverhead(): Promise<Row[]> {
  const demo = await createDemoServer({ host: '127.0.0.1', port: 0 });
  const lanes = await loadLanes(LANES_DIR, { replaceOrigin: { 'http://127.0.0.1:8090': demo.url } });
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: await locateBrowser({}), args });
  try {
    const rows: Row[] = [];
    for (const page of PAGES) {
      const lane = lanes.find(({ spec }) => spec.surface === page.surface);
      if (lane?.spec.driver !== 'browser') throw new Error(`${page.surface} has no browser lane`);
      rows.push(await compare(browser, `${demo.url}/${page.surface}?q=bench`, page, lane.spec.profile));
    }
    return rows;
  } finally {
    await browser.close();
    await demo.close();
  }
}

async function compare(browser: Browser, url: string, page: (typeof PAGES)[number], profile: Profile): Promise<Row> {
  const ours = await openOurs(profile, 1);
  const times = { ours: [] as number[], page: [] as number[] };
  try {
    await ours.capture();
    for (let round = 0; round < ROUNDS; round += 1) {
      times.ours.push(await time(ours.capture));
      times.page.push(await watch(browser, url, page));
    }
  } finally {
    await ours.close();
  }
  return {
    name: `capture of ${page.surface}: beyond the page's own time`,
    ours: median(times.ours),
    bare: median(times.page),
    unit: 'ms',
    atMostMore: 250,
  };
}

async function watch(browser: Browser, url: string, { field, button, done }: (typeof PAGES)[number]): Promise<number> {
  const context = await browser.newContext();
  try {
    const tab = await context.newPage();
    return await time(async () => {
      await tab.goto(url, { waitUntil: 'commit' });
      if (field !== null) {
        await tab.fill(field, 'bench');
        await tab.click(button);
      }
      await tab.waitForFunction(`document.querySelector(${JSON.stringify(done)}) !== null`, undefined, {
        polling: POLL_MS,
      });
    });
  } finally {
    await context.close();
  }
}
