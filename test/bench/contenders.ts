import { chromium } from 'playwright-core';
import { createBrowserDriver, createBrowserPool, locateBrowser, type Profile } from '../../pkg/capture/index.ts';
import { listTree, measureTreeMiB } from '../../pkg/capture/browser/processes.ts';
import { pause, systemClock } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import { mean } from './table.ts';

const SAMPLE_EVERY_MS = 200;
const REST_MS = 150;

/** One way to capture a page, on a browser of its own. */
export type Contender = {
  capture: () => Promise<void>;
  /** Of its browser, all processes together. */
  memoryMiB: () => Promise<number>;
  close: () => Promise<void>;
};

/** The whole driver, as a lane runs it: pool, egress guard, readiness, reading. */
export async function openOurs(profile: Profile, concurrency: number): Promise<Contender> {
  const log = createLog('bench', 'silent');
  const executablePath = await locateBrowser({});
  const recycle = { uses: 100_000, ageSeconds: 86_400, memoryMiB: 16_384 };
  const pool = createBrowserPool({ executablePath, concurrency, recycle, clock: systemClock, log });
  const driver = createBrowserDriver({ profile, pool, clock: systemClock, log });
  return {
    capture: async () => {
      const task = {
        captureId: 'bench',
        surface: 'engine_search',
        query: 'bench',
        region: null,
        wantsProof: false,
        timeoutMs: 60_000,
      } as const;
      const result = await driver.capture(task, new AbortController().signal);
      if (result.outcome !== 'completed') throw new Error(`the bench page was captured as ${JSON.stringify(result)}`);
    },
    memoryMiB: async () => (await measureTreeMiB(pool.processGroups()[0] ?? 0)) ?? Number.NaN,
    close: async () => {
      await driver.close();
      await pool.close();
    },
  };
}

/** What a script does that knows Playwright and nothing else: a fresh context, the page, its end, its text. */
export async function openBare(url: string): Promise<Contender> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const others = new Set(await listTree(process.pid));
  const browser = await chromium.launch({ executablePath: await locateBrowser({}), args });
  const group = (await listTree(process.pid)).find((pid) => !others.has(pid)) ?? 0;
  return {
    capture: async () => {
      const context = await browser.newContext();
      try {
        const tab = await context.newPage();
        await tab.goto(url);
        await tab.waitForSelector('#done', { state: 'attached' });
        await tab.locator('#answer').innerHTML();
      } finally {
        await context.close();
      }
    },
    memoryMiB: async () => (await measureTreeMiB(group)) ?? Number.NaN,
    close: () => browser.close(),
  };
}

/** How long it takes on a machine that has come to rest: nobody pays for what the one before leaves to be closed. */
export async function timeAlone(work: () => Promise<void>): Promise<number> {
  await pause(REST_MS);
  return await time(work);
}

async function time(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Captures a second, `parallel` at a time, and the mean of the browser's memory meanwhile. */
export async function load(
  contender: Contender,
  parallel: number,
  count: number,
): Promise<{ perSecond: number; memoryMiB: number }> {
  let left = count;
  const sizes: number[] = [];
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await contender.capture();
    }
  };
  const startMs = performance.now();
  const workers = Promise.all(Array.from({ length: parallel }, worker)).then(() => performance.now());
  let endMs: number | null = null;
  do {
    // Renderers come and go with the pages: only many looks at both sides' ups and downs compare.
    endMs = await Promise.race([workers, pause(SAMPLE_EVERY_MS).then(() => null)]);
    sizes.push(await contender.memoryMiB());
  } while (endMs === null);
  return { perSecond: count / ((endMs - startMs) / 1000), memoryMiB: mean(sizes) };
}
