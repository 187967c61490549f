import { chromium } from 'playwright-core';
import {
  createBrowserDriver,
  createBrowserPool,
  locateBrowser,
  type CaptureTask,
  type Driver,
} from '../../pkg/capture/index.ts';
import { parseLane } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import { median, type Row } from './table.ts';
import { startPage } from './page.ts';

const ROUNDS = 40;
const PARALLEL = [1, 2, 4];
const PER_LEVEL = 40;

/**
 * A capture through the whole driver against a bare script that makes a fresh context, goes to the same page, waits for
 * the same node and reads it. Both in turns, in one run, on one browser each.
 */
export async function benchCapture(): Promise<Row[]> {
  const page = await startPage();
  const executablePath = await locateBrowser({ path: '', prefer: 'headless-shell' });
  const log = createLog('bench', 'silent');
  const recycle = { uses: 100_000, ageSeconds: 86_400, memoryMiB: 16_384 };
  const pool = createBrowserPool({
    executablePath,
    concurrency: Math.max(...PARALLEL),
    recycle,
    clock: systemClock,
    log,
  });
  const driver = createBrowserDriver({ profile: profileOf(page.url), pool, clock: systemClock, log });
  const bare = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
  const ours = () => captureOnce(driver);
  const theirs = async (): Promise<void> => {
    const context = await bare.newContext();
    try {
      const tab = await context.newPage();
      await tab.goto(`${page.url}/?q=bench`);
      await tab.waitForSelector('#done', { state: 'attached' });
      await tab.locator('#answer').innerHTML();
    } finally {
      await context.close();
    }
  };
  try {
    for (const warmUp of [ours, theirs, ours, theirs]) await warmUp();
    const latency = await takeTurns(ours, theirs);
    const throughput: { level: number; ours: number; theirs: number }[] = [];
    for (const level of PARALLEL) {
      throughput.push({ level, ours: await rate(ours, level), theirs: await rate(theirs, level) });
    }
    const best = (pick: (one: (typeof throughput)[number]) => number) => Math.max(...throughput.map(pick));
    return [
      {
        name: 'capture: median time, ours / bare script',
        ours: latency.ours,
        bare: latency.theirs,
        unit: 'ms',
        atMost: 1.15,
      },
      {
        name: 'capture: per second at best concurrency, ours / bare',
        ours: best((one) => one.ours),
        bare: best((one) => one.theirs),
        unit: '/s',
        atLeast: 0.9,
      },
    ];
  } finally {
    await driver.close();
    await pool.close();
    await bare.close();
    await page.close();
  }
}

async function captureOnce(driver: Driver): Promise<void> {
  const task: CaptureTask = {
    captureId: 'bench',
    surface: 'engine_search',
    query: 'bench',
    region: null,
    wantsProof: false,
    timeoutMs: 30_000,
  };
  const result = await driver.capture(task, new AbortController().signal);
  if (result.outcome !== 'completed') throw new Error(`the bench page was captured as ${JSON.stringify(result)}`);
}

async function takeTurns(
  ours: () => Promise<void>,
  theirs: () => Promise<void>,
): Promise<{ ours: number; theirs: number }> {
  const times = { ours: [] as number[], theirs: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    times.ours.push(await time(ours));
    times.theirs.push(await time(theirs));
  }
  return { ours: median(times.ours), theirs: median(times.theirs) };
}

async function time(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function rate(work: () => Promise<void>, parallel: number): Promise<number> {
  let left = PER_LEVEL;
  const startMs = performance.now();
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return PER_LEVEL / ((performance.now() - startMs) / 1000);
}

function profileOf(url: string) {
  const lane = parseLane(
    {
      apiVersion: 'searchcapture.io/v1alpha1',
      kind: 'CaptureLane',
      metadata: { name: 'bench' },
      spec: {
        surface: 'engine_search',
        driver: 'browser',
        profile: {
          go: { url: `${url}/?q={query}` },
          ask: [],
          finished: { markers: [{ present: '#done' }], quietMs: 0 },
          read: { answer: '#answer', citations: [{ item: 'a[href]', where: 'inline', role: 'citation' }] },
        },
      },
    },
    'bench',
  );
  if (lane.spec.driver !== 'browser') throw new Error('the bench lane uses a browser');
  return lane.spec.profile;
}
