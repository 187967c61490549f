import { getEventListeners } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createBrowserDriver,
  createBrowserPool,
  locateBrowser,
  type BrowserPool,
  type CaptureResult,
  type Driver,
  type Profile,
} from '../../pkg/capture/index.ts';
import { isRunning, listTree, measureTreeMiB } from '../../pkg/capture/browser/processes.ts';
import { pause, systemClock } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import { startHostileSite, TROUBLES, WELL, type HostileSite, type Trouble } from '../support/hostile-site.ts';
import { until } from '../support/poll.ts';

/** `make soak-lanes` asks for 500. */
const CAPTURES = Number(process.env['LEAK_CAPTURES'] ?? '60');
const PARALLEL = 4;
/** What may come on top of a deadline until the slot is free again. */
const CLOSING_MS = 5_000;
const CAPTURE_MS = 30_000;
/** For troubles that last until the deadline. */
const SHORT_MS = 2_500;
/** Of the process, after a full garbage collection: code that is compiled late, and noise. */
const HEAP_GROWTH_MIB = 12;
/** One idle browser that has shown pages was measured at 320 MiB. */
const BROWSER_MIB = 640;
const LANGUAGES = ['de', 'en-US', 'fr'];

const log = createLog('test', 'silent');
let site: HostileSite;
/** For temporary files: others on this machine have theirs elsewhere. */
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaks-'));
  process.env['TMPDIR'] = folder;
  site = await startHostileSite();
});
afterAll(async () => {
  await site.close();
  await rm(folder, { recursive: true });
});

function profileOf({ origin }: HostileSite): Profile {
  return {
    go: { url: `${origin}/?trouble={query}` },
    ask: [],
    finished: { quietMs: 100, markers: [{ present: '#done' }], error: '#failed' },
    read: { answer: '.answer' },
  };
}

/** What of the machine this process holds. */
async function takeStock() {
  const running: number[] = [];
  for (const pid of await listTree(process.pid)) if (await isRunning(pid)) running.push(pid);
  const files = await readdir(folder, { recursive: true });
  const handles = process.getActiveResourcesInfo().filter((kind) => kind !== 'Timeout' && kind !== 'Immediate');
  const listeners = process.eventNames().map((name) => `${String(name)}: ${process.listenerCount(name)}`);
  return { processes: running.sort(), files: files.sort(), handles: handles.sort(), listeners: listeners.sort() };
}

function heapMiB(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('the garbage collector does not let itself be called');
  Reflect.apply(collect, undefined, []);
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

async function captureOnce(driver: Driver, pool: BrowserPool, trouble: Trouble, index: number, stop: AbortSignal) {
  const cancel = new AbortController();
  const timeoutMs = trouble.lasts === true ? SHORT_MS : CAPTURE_MS;
  const task = {
    captureId: `job_1.assistant_one.${index}`,
    surface: 'assistant_one',
    query: trouble.path,
    region: { country: 'DE', language: LANGUAGES[index % LANGUAGES.length] ?? 'de' },
    wantsProof: index % 2 === 0,
    timeoutMs,
  } as const;
  const strike = setTimeout(() => {
    if (trouble.cancels === true) cancel.abort();
    if (trouble.killsBrowser === true) killBrowsers(pool);
  }, 200);
  const startMs = performance.now();
  try {
    const result = await driver.capture(task, AbortSignal.any([cancel.signal, stop]));
    return { trouble, result, overtimeMs: performance.now() - startMs - timeoutMs };
  } finally {
    // A capture that another one's kill has ended early must not strike those that come after it.
    clearTimeout(strike);
  }
}

function killBrowsers(pool: BrowserPool): void {
  for (const group of pool.processGroups()) {
    try {
      process.kill(-group, 'SIGKILL');
    } catch (error) {
      // Gone already is what was wanted.
      log.debug({ err: error }, 'Not killed');
    }
  }
}

type Ended = { trouble: Trouble; result: CaptureResult; overtimeMs: number };

async function captureMany(driver: Driver, pool: BrowserPool, count: number, stop: AbortSignal): Promise<Ended[]> {
  const ended: Ended[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      const trouble = TROUBLES[index % TROUBLES.length];
      if (trouble !== undefined) ended.push(await captureOnce(driver, pool, trouble, index, stop));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return ended;
}

describe(`${CAPTURES} captures with errors, hangs and crashes among them`, () => {
  it('end as what they were, in their time, and leave nothing behind', async () => {
    const before = await takeStock();
    const warnings: string[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', onWarning);
    const pool = createBrowserPool({
      executablePath: await locateBrowser({ path: process.env['BROWSER_EXECUTABLE'] ?? '' }),
      concurrency: PARALLEL,
      recycle: { uses: 60, ageSeconds: 3600, memoryMiB: 4096 },
      clock: systemClock,
      log,
    });
    const driver = createBrowserDriver({ profile: profileOf(site), pool, clock: systemClock, log });
    try {
      await watchForLeaks(driver, pool);
    } finally {
      await driver.close();
      await pool.close();
      process.off('warning', onWarning);
    }
    expect(warnings).toEqual([]);
    await waitForStock(before);
    expect(await takeStock()).toEqual(before);
    site.expectNobody();
  }, 600_000);
});

/** Polls: closed sockets and reaped processes take a moment to be gone. */
async function waitForStock(wanted: Awaited<ReturnType<typeof takeStock>>): Promise<void> {
  const isBack = async (): Promise<boolean> => JSON.stringify(await takeStock()) === JSON.stringify(wanted);
  const endMs = performance.now() + 15_000;
  while (!(await isBack()) && performance.now() < endMs) await pause(100);
}

async function watchForLeaks(driver: Driver, pool: BrowserPool): Promise<void> {
  const stop = new AbortController();
  await captureMany(driver, pool, TROUBLES.length, stop.signal);
  const heapBefore = heapMiB();
  const ended = await captureMany(driver, pool, CAPTURES, stop.signal);

  // A browser that is killed takes the pages of other captures with it: those come as crashed, too.
  const wrong = ended.filter(({ trouble, result }) => ![...trouble.outcomes, 'crashed'].includes(result.outcome));
  expect(wrong.map(({ trouble, result }) => ({ trouble: trouble.path, ...result, screenshot: undefined }))).toEqual([]);
  expect(Math.max(...ended.map(({ overtimeMs }) => overtimeMs))).toBeLessThan(CLOSING_MS);
  const crashed = ended.filter(
    ({ trouble, result }) => result.outcome === 'crashed' && !trouble.outcomes.includes('crashed'),
  );
  expect(crashed.length).toBeLessThanOrEqual(Math.ceil(CAPTURES / TROUBLES.length) * PARALLEL);

  // Every slot is free again, and one browser is enough for them.
  await until(() => pool.processGroups().length <= 1, { timeoutMs: 20_000, what: 'old browsers have ended' });
  const again = await captureMany(driver, pool, 1, stop.signal);
  expect(again.map(({ result }) => result.outcome)).toEqual(['completed']);
  expect(await sizeOfLargest(pool)).toBeLessThan(BROWSER_MIB);
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  expect(heapMiB() - heapBefore).toBeLessThan(HEAP_GROWTH_MIB);
}

/** While one is in use: the browser of the last capture may have had its last use, and be gone. */
async function sizeOfLargest(pool: BrowserPool): Promise<number> {
  const lease = await pool.lease(
    { key: 'size', options: {}, initScript: '' },
    CAPTURE_MS,
    new AbortController().signal,
  );
  const sizes = await Promise.all(pool.processGroups().map(measureTreeMiB));
  lease.release();
  const known = sizes.filter((size) => size !== null);
  expect(known).not.toEqual([]);
  return Math.max(...known);
}

describe('a page that hangs', () => {
  it('holds its place for no longer than five seconds beyond its time', async () => {
    const recycle = { uses: 60, ageSeconds: 3600, memoryMiB: 4096 };
    const executablePath = await locateBrowser({ path: process.env['BROWSER_EXECUTABLE'] ?? '' });
    const pool = createBrowserPool({ executablePath, concurrency: 1, recycle, clock: systemClock, log });
    const profile = profileOf(site);
    // Nor do the steps before leaving add to it, which such a page doesn't let anybody make.
    const read = { ...profile.read, leave: [{ click: '.answer' }] };
    const driver = createBrowserDriver({ profile: { ...profile, read }, pool, clock: systemClock, log });
    const never = new AbortController().signal;
    try {
      await captureOnce(driver, pool, WELL, 0, never);
      const hangs = TROUBLES.find(({ path }) => path === 'busy-loop') ?? WELL;
      const startMs = performance.now();
      const hung = captureOnce(driver, pool, hangs, 0, never);
      const lease = await pool.lease({ key: 'next', options: {}, initScript: '' }, 30_000, never);
      expect(performance.now() - startMs).toBeLessThan(SHORT_MS + CLOSING_MS);
      expect((await hung).result.outcome).toBe('timeout');
      expect(await lease.page.evaluate('1 + 1')).toBe(2);
      lease.release();
    } finally {
      await driver.close();
      await pool.close();
    }
  });
});
