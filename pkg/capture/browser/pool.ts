import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { withDeadline, type Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { isSandboxed, launchBrowser, type LaunchedBrowser } from './launch.ts';
import { measureTreeMiB } from './processes.ts';
import { removeLeakedProfiles } from './profile-folders.ts';
import { createSlots } from './slots.ts';

/** How a page is prepared. Recipes with the same `key` are interchangeable. */
export type PageRecipe = { key: string; options: BrowserContextOptions; initScript: string };

export type PageLease = {
  page: Page;
  /** Prepares a page of the same recipe for the next lease, in the background: call it while waiting for the answer. */
  warmNext: () => void;
  /** Gives page and slot back. Returns at once; a context that does not close within five seconds costs its browser. */
  release: () => void;
};

export type BrowserPool = {
  /** A fresh, empty page, at most `concurrency` of them at once. Rejects after `timeoutMs` or when `signal` aborts. */
  lease(recipe: PageRecipe, timeoutMs: number, signal: AbortSignal): Promise<PageLease>;
  /** Whether Chromium's own sandbox is on. */
  sandboxed: boolean;
  /** Process groups of the browsers that run now, those on their way out included. */
  processGroups(): number[];
  /** Ends every browser, running captures included; afterwards no process and no file of them is left. */
  close(): Promise<void>;
};

export type BrowserPoolOptions = {
  executablePath: string;
  concurrency: number;
  /** A browser takes no new pages after so many uses, at this age, or over this memory, and ends with its last page. */
  recycle: { uses: number; ageSeconds: number; memoryMiB: number };
  /** Default true; always off for root, whom Chromium refuses to sandbox. */
  sandbox?: boolean;
  /** Default false: with windows, for a person to watch. */
  headed?: boolean;
  clock: Clock;
  log: Logger;
};

type Opened = { context: BrowserContext; page: Page };
type Live = LaunchedBrowser & {
  bornAtMs: number;
  uses: number;
  pages: number;
  retired: boolean;
  warm: { key: string; opened: Promise<Opened> } | null;
};

const OPEN_TIMEOUT_MS = 15_000;
const CLOSE_TIMEOUT_MS = 5_000;
const MEMORY_EVERY_MS = 5_000;

/** A pool of Chromium browsers: a fresh context for every capture. Nothing is started before the first lease. */
export function createBrowserPool(options: BrowserPoolOptions): BrowserPool {
  const { executablePath, concurrency, recycle, sandbox = true, headed = false, clock, log } = options;
  const slots = createSlots(concurrency);
  const alive = new Set<Live>();
  const ending = new Set<Live>();
  const followed = new Set<Promise<void>>();
  let current: Promise<Live> | null = null;
  let latest: Live | null = null;
  let closed = false;
  let measuredAtMs = -Infinity;

  /** Work that nobody waits for: its failure is told, and `close` waits for its end. */
  function follow(work: Promise<void>, failure: string): void {
    const settled = work
      .catch((error: unknown) => log.warn({ err: error }, failure))
      .finally(() => followed.delete(settled));
    followed.add(settled);
  }

  async function launch(): Promise<Live> {
    if (alive.size === 0) await removeLeakedProfiles(clock.nowMs());
    const launched = await launchBrowser({ executablePath, sandbox, headed });
    const live: Live = { ...launched, bornAtMs: clock.nowMs(), uses: 0, pages: 0, retired: false, warm: null };
    alive.add(live);
    latest = live;
    live.browser.once('disconnected', () => retire(live, 'it is gone'));
    return live;
  }

  function getCurrent(): Promise<Live> {
    if (closed) return Promise.reject(new Error('the browser pool is closed'));
    if (current !== null) return current;
    const launching = launch();
    current = launching;
    // A failed launch must not be what every later capture gets.
    launching.catch(() => {
      if (current === launching) current = null;
    });
    return launching;
  }

  async function getUsable(): Promise<Live> {
    const live = await getCurrent();
    if (!live.retired && clock.nowMs() - live.bornAtMs >= recycle.ageSeconds * 1000) retire(live, 'it is old');
    return live.retired ? getCurrent() : live;
  }

  function retire(live: Live, reason: string): void {
    if (live.retired) return;
    live.retired = true;
    if (live === latest) current = null;
    log.info({ reason, uses: live.uses }, 'Replacing a browser');
    if (live.pages === 0) end(live);
  }

  function end(live: Live): void {
    // Its last page and the end of the pool may both ask for it.
    if (!alive.delete(live)) return;
    ending.add(live);
    const gone = live.end().finally(() => ending.delete(live));
    follow(gone, 'A browser did not end cleanly');
  }

  function open(live: Live, recipe: PageRecipe): Promise<Opened> {
    const opening = async (): Promise<Opened> => {
      const context = await live.browser.newContext({
        ...recipe.options,
        // Downloads would fill the disk, and a service worker would answer in the place of the engine.
        acceptDownloads: false,
        serviceWorkers: 'block',
      });
      await context.addInitScript({ content: recipe.initScript });
      return { context, page: await context.newPage() };
    };
    return withDeadline(opening(), OPEN_TIMEOUT_MS, 'opening a page');
  }

  /** The page that was prepared for this recipe, when there is one and it still lives. */
  async function takeWarm(live: Live, key: string): Promise<Opened | null> {
    const { warm } = live;
    live.warm = null;
    if (warm === null) return null;
    try {
      const opened = await warm.opened;
      if (warm.key === key && !opened.page.isClosed()) return opened;
      follow(withDeadline(opened.context.close(), CLOSE_TIMEOUT_MS, 'closing a page'), 'A page did not close');
    } catch (error) {
      log.debug({ err: error }, 'A prepared page is lost');
    }
    return null;
  }

  function warmNext(recipe: PageRecipe): void {
    if (closed) return;
    const work = async (): Promise<void> => {
      const live = await getUsable();
      if (live.warm !== null || closed) return;
      const warm = { key: recipe.key, opened: open(live, recipe) };
      live.warm = warm;
      try {
        const { page } = await warm.opened;
        // A page whose renderer died meanwhile looks alive to everyone but to this event.
        page.once('crash', () => forget(live, warm));
      } catch (error) {
        forget(live, warm);
        throw error;
      }
    };
    follow(work(), 'Could not prepare a page');
  }

  function forget(live: Live, warm: Live['warm']): void {
    if (live.warm === warm) live.warm = null;
  }

  async function openFor(live: Live, recipe: PageRecipe): Promise<Opened> {
    live.pages += 1;
    live.uses += 1;
    try {
      return (await takeWarm(live, recipe.key)) ?? (await open(live, recipe));
    } catch (error) {
      retire(live, 'it opens no page');
      leave(live);
      throw error;
    } finally {
      if (live.uses >= recycle.uses) retire(live, 'it was used often enough');
    }
  }

  function leave(live: Live): void {
    live.pages -= 1;
    if (live.retired && live.pages === 0) end(live);
  }

  async function closePage(live: Live, context: BrowserContext): Promise<void> {
    try {
      await withDeadline(context.close(), CLOSE_TIMEOUT_MS, 'closing a context');
    } catch (error) {
      // When the pool ends, the browser may take its contexts with it.
      if (!closed) log.warn({ err: error }, 'A context did not close');
      retire(live, 'a context did not close');
    } finally {
      slots.give();
      leave(live);
    }
    if (!live.retired) await retireWhenBig(live);
  }

  async function retireWhenBig(live: Live): Promise<void> {
    const nowMs = clock.nowMs();
    if (nowMs - measuredAtMs < MEMORY_EVERY_MS) return;
    measuredAtMs = nowMs;
    const memoryMiB = await measureTreeMiB(live.groupId);
    if (memoryMiB !== null && memoryMiB > recycle.memoryMiB) retire(live, `it holds ${Math.round(memoryMiB)} MiB`);
  }

  async function lease(recipe: PageRecipe, timeoutMs: number, signal: AbortSignal): Promise<PageLease> {
    await slots.take(timeoutMs, signal);
    try {
      const live = await getUsable();
      const { page, context } = await openFor(live, recipe);
      let released = false;
      const release = (): void => {
        if (released) return;
        released = true;
        follow(closePage(live, context), 'A page was not given back cleanly');
      };
      return { page, warmNext: () => warmNext(recipe), release };
    } catch (error) {
      slots.give();
      throw error;
    }
  }

  async function close(): Promise<void> {
    closed = true;
    slots.close();
    // One that is just coming up would be nobody's afterwards.
    await current?.catch((error: unknown) => log.debug({ err: error }, 'No browser came up'));
    current = null;
    for (const live of alive) {
      live.retired = true;
      end(live);
    }
    while (followed.size > 0) await Promise.all(followed);
  }

  return {
    lease,
    close,
    sandboxed: isSandboxed(sandbox),
    processGroups: () => [...alive, ...ending].map(({ groupId }) => groupId),
  };
}
