import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { createLog } from '../../telemetry/index.ts';
import { findSandboxFault } from './launch.ts';
import { locateBrowser } from './locate.ts';
import type { PageRecipe } from './pages.ts';
import { createBrowserPool, type BrowserPool, type BrowserPoolOptions, type PageLease } from './pool.ts';
import { isRunning, listTree, measureTreeMiB, readCommandLine } from './processes.ts';
import { removeLeakedProfiles } from './profile-folders.ts';
import { until } from './until-for-tests.ts';

const RECIPE: PageRecipe = { key: '', options: {}, initScript: 'globalThis.prepared = true' };
const NEVER = new AbortController().signal;

const pools: BrowserPool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

async function openPool(options: Partial<BrowserPoolOptions> = {}): Promise<BrowserPool> {
  const pool = createBrowserPool({
    executablePath: await locateBrowser({}),
    concurrency: 2,
    recycle: { uses: 1000, ageSeconds: 3600, memoryMiB: 8000 },
    clock: { nowMs: () => Date.now() },
    log: createLog('test', 'silent'),
    ...options,
  });
  pools.push(pool);
  return pool;
}

const lease = (pool: BrowserPool, recipe = RECIPE): Promise<PageLease> => pool.lease(recipe, 20_000, NEVER);

async function browserOf(page: PageLease['page']): Promise<number> {
  const session = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo } = (await session?.send('SystemInfo.getProcessInfo')) ?? { processInfo: [] };
  return processInfo.find(({ type }) => type === 'browser')?.id ?? -1;
}

function isPrepared(context: BrowserContext, current: Page): boolean {
  return context !== current.context() && context.pages().length > 0;
}

/** One use of the pool; the process that served it. */
async function useOnce(pool: BrowserPool): Promise<number> {
  const { page, release } = await lease(pool);
  const pid = await browserOf(page);
  release();
  await until(() => page.isClosed());
  return pid;
}

describe('a pool of browsers', () => {
  it('starts nothing before it is used, and leaves no process and no profile behind', async () => {
    const pool = await openPool();
    expect(pool.processGroups()).toEqual([]);
    const { page } = await lease(pool);
    const [group = 0] = pool.processGroups();
    const tree = await listTree(group);
    const flag = '--user-data-dir=';
    const profile = (await readCommandLine(await browserOf(page))).find((word) => word.startsWith(flag)) ?? '';
    expect(tree.length).toBeGreaterThan(3);
    await pool.close();
    expect(pool.processGroups()).toEqual([]);
    for (const pid of tree) expect(await isRunning(pid)).toBe(false);
    await expect(readdir(profile.slice(flag.length))).rejects.toThrow('ENOENT');
    await expect(lease(pool)).rejects.toThrow('closed');
  });

  it('gives every lease a context of its own, prepared beforehand where it could be', async () => {
    const pool = await openPool();
    const first = await lease(pool);
    await first.page.context().addCookies([{ name: 'who', value: 'first', url: 'http://127.0.0.1/' }]);
    first.warmNext();
    const second = await lease(pool);
    expect(await second.page.context().cookies()).toEqual([]);
    await second.page.goto('data:text/html,x');
    expect(await second.page.evaluate('globalThis.prepared')).toBe(true);
    const german = await lease(await openPool(), { ...RECIPE, key: 'de', options: { locale: 'de-DE' } });
    expect(await german.page.evaluate('navigator.language')).toBe('de-DE');
    expect(await german.page.evaluate(`document.createElement('canvas').getContext('webgl')`)).toBeNull();
  });

  it('serves at most so many at once, in the order they came', async () => {
    const pool = await openPool({ concurrency: 1 });
    const first = await lease(pool);
    await expect(pool.lease(RECIPE, 50, NEVER)).rejects.toThrow('no browser became free within 50 ms');
    await expect(pool.lease(RECIPE, 5_000, AbortSignal.timeout(20))).rejects.toThrow('canceled');
    const served: number[] = [];
    const waiting = [1, 2].map(async (place) => {
      const next = await lease(pool);
      served.push(place);
      next.release();
    });
    first.release();
    await Promise.all(waiting);
    expect(served).toEqual([1, 2]);
  });

  it('comes back with a new browser after one was killed', async () => {
    const pool = await openPool();
    const { page, release } = await lease(pool);
    const pid = await browserOf(page);
    process.kill(pid, 'SIGKILL');
    await until(() => page.isClosed());
    release();
    expect(await useOnce(pool)).not.toBe(pid);
  });

  it.each(['nothing', 'a page'])('loses no capture to a browser that died idle, with %s prepared', async (prepared) => {
    const pool = await openPool();
    const { page, warmNext, release } = await lease(pool);
    if (prepared === 'a page') {
      warmNext();
      await until(() => (page.context().browser()?.contexts() ?? []).some((other) => isPrepared(other, page)));
    }
    release();
    await until(() => page.isClosed());
    const [group = 0] = pool.processGroups();
    process.kill(-group, 'SIGKILL');
    const next = await lease(pool);
    expect(await next.page.evaluate('1 + 1')).toBe(2);
  });

  it('tells of a browser that opens no page at its first use', async () => {
    const pool = await openPool();
    const failing = { ...RECIPE, options: { locale: 'de', timezoneId: 'Nowhere/At-All' } };
    await expect(lease(pool, failing)).rejects.toThrow('Nowhere');
    expect(await (await lease(pool)).page.evaluate('1 + 1')).toBe(2);
  });

  it('replaces a browser after its uses, and lets it finish what it has', async () => {
    const pool = await openPool({ recycle: { uses: 2, ageSeconds: 3600, memoryMiB: 8000 } });
    const first = await lease(pool);
    const pid = await browserOf(first.page);
    expect(await useOnce(pool)).toBe(pid);
    expect(await useOnce(pool)).not.toBe(pid);
    expect(await first.page.evaluate('1 + 1')).toBe(2);
    first.release();
    await until(async () => !(await isRunning(pid)));
  });

  it.each<[string, Partial<BrowserPoolOptions['recycle']>, number]>([
    ['at its age', { ageSeconds: 60 }, 61_000],
    ['over its memory', { memoryMiB: 1 }, 6_000],
  ])('replaces a browser %s', async (_, recycle, passedMs) => {
    let nowMs = Date.now();
    const pool = await openPool({
      clock: { nowMs: () => nowMs },
      recycle: { uses: 1000, ageSeconds: 3600, memoryMiB: 8000, ...recycle },
    });
    const first = await useOnce(pool);
    nowMs += passedMs;
    await useOnce(pool);
    await until(async () => (await useOnce(pool)) !== first);
    await until(async () => !(await isRunning(first)));
  });

  it('frees the slot of a page that hangs', async () => {
    const pool = await openPool({ concurrency: 1 });
    const { page, release } = await lease(pool);
    const hung = page.evaluate('for (;;);').catch((error: unknown) => error);
    release();
    const next = await pool.lease(RECIPE, 8_000, NEVER);
    expect(await next.page.evaluate('2')).toBe(2);
    expect(await hung).toBeInstanceOf(Error);
  });

  it('frees the slot of a capture that is over while its page is still being opened', async () => {
    const pool = await openPool({ concurrency: 1 });
    const { page, release } = await lease(pool);
    const pid = await browserOf(page);
    release();
    await until(() => page.isClosed());
    process.kill(pid, 'SIGSTOP');
    const startMs = performance.now();
    await expect(pool.lease(RECIPE, 20_000, AbortSignal.timeout(300))).rejects.toThrow('canceled');
    expect(performance.now() - startMs).toBeLessThan(5_000);
    process.kill(pid, 'SIGCONT');
    expect(await (await lease(pool)).page.evaluate('2')).toBe(2);
  });

  it('loses one page to a renderer that dies, and no other', async () => {
    const pool = await openPool();
    const [first, second] = await Promise.all([lease(pool), lease(pool)]);
    const crashed = new Promise((resolve) => first.page.once('crash', resolve));
    void first.page.goto('chrome://crash').catch((error: unknown) => error);
    await crashed;
    expect(await second.page.evaluate('1 + 1')).toBe(2);
    first.release();
    expect(await browserOf((await lease(pool)).page)).toBe(await browserOf(second.page));
  });
});

/** What a pool finds out about its sandbox, and Linux about its renderers: 2 is "seccomp filters are on". */
const LOOK_AT_SANDBOX = `
  const { createBrowserPool } = await import(process.argv[1] + '/pool.ts');
  const { listTree, readCommandLine } = await import(process.argv[1] + '/processes.ts');
  const { readFileSync } = await import('node:fs');
  const log = { info() {}, warn() {}, debug() {} };
  const recycle = { uses: 9, ageSeconds: 99, memoryMiB: 9999 };
  const clock = { nowMs: () => Date.now() };
  const pool = createBrowserPool({ executablePath: process.argv[2], concurrency: 1, recycle, clock, log });
  await pool.lease({ key: '', options: {}, initScript: '' }, 20000, new AbortController().signal);
  const seccomp = [];
  for (const pid of await listTree(pool.processGroups()[0])) {
    if (!(await readCommandLine(pid)).join(' ').includes('--type=renderer')) continue;
    seccomp.push(/^Seccomp:\\s+(\\d)/m.exec(readFileSync('/proc/' + pid + '/status', 'utf8'))[1]);
  }
  console.log(JSON.stringify({ sandbox: pool.sandbox(), seccomp }));
  await pool.close();
  process.exit();`;

async function lookAtSandbox(options: { uid?: number; env?: NodeJS.ProcessEnv } = {}): Promise<unknown> {
  const home = await mkdtemp(join(tmpdir(), 'home-'));
  try {
    await chmod(home, 0o777);
    const { env = {}, ...who } = options;
    const args = ['--input-type=module', '-e', LOOK_AT_SANDBOX, import.meta.dirname, await locateBrowser({})];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      ...who,
      env: { PATH: process.env['PATH'], HOME: home, TMPDIR: home, ...env },
      timeout: 40_000,
    });
    return JSON.parse(stdout);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

describe('the sandbox of Chromium', () => {
  const isRoot = process.getuid?.() === 0;

  it('is off for root, and says so', async () => {
    const pool = await openPool();
    expect(pool.sandbox()).toBeNull();
    await lease(pool);
    if (isRoot) expect(pool.sandbox()).toEqual({ on: false, reason: expect.stringContaining('runs as root') });
    else expect(pool.sandbox()).not.toBeNull();
  });

  it.each([
    [
      `browserType.launch: Target page, context or browser has been closed\nBrowser logs:\n- [pid=9][err] [1121/073230.197574:ERROR:content/browser/zygote_host/zygote_host_impl_linux.cc:130] No usable sandbox! If this is a Debian system, please install the chromium-sandbox package to solve this problem.`,
      'Chromium found none that it may use here ("No usable sandbox")',
    ],
    [
      'Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted',
      'Chromium found none that it may use here ("Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted")',
    ],
    ['spawn /usr/bin/chromium ENOENT', null],
  ])('is told from other failures to start: %s', (message, reason) => {
    expect(findSandboxFault(new Error(message))).toBe(reason);
  });

  it('is on for others where the kernel allows it', async () => {
    const found = await lookAtSandbox(isRoot ? { uid: 65_534 } : {});
    expect(found).toMatchObject({ sandbox: { on: true } });
    expect(found).toMatchObject({ seccomp: expect.arrayContaining(['2']) });
  });
});

describe('what the system tells about processes', () => {
  it('is a size for a process that lives, and nothing for one that does not', async () => {
    expect(await measureTreeMiB(process.pid)).toBeGreaterThan(10);
    expect(await measureTreeMiB(2 ** 30)).toBeNull();
  });

  it('tells which profile folders nobody uses any more', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'leaks-'));
    try {
      for (const name of ['playwright_chromiumdev_profile-old', 'playwright_chromiumdev_profile-new', 'other-old']) {
        await mkdir(join(folder, name));
        if (name.endsWith('old')) await utimes(join(folder, name), 1, 1);
      }
      expect(await removeLeakedProfiles(Date.now(), folder)).toBe(1);
      expect((await readdir(folder)).sort()).toEqual(['other-old', 'playwright_chromiumdev_profile-new']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('a browser is located', () => {
  it('where it is named, or not at all', async () => {
    expect(await locateBrowser({ path: process.execPath })).toBe(process.execPath);
    await expect(locateBrowser({ path: '/nowhere/chromium' })).rejects.toThrow(
      '/nowhere/chromium is not an executable',
    );
    await expect(locateBrowser({ searchPath: '/nowhere' })).rejects.toThrow('install one of chromium-headless-shell');
  });
});
