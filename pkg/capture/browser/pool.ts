import type { BrowserContext, Page } from 'playwright-core';
import type { Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { launchBrowser, type Sandbox } from './launch.ts';
import { closeContext, openPage, prepareWarm, type Live, type Opened, type PageRecipe } from './pages.ts';
import { measureTreeMiB } from './processes.ts';
import { removeLeakedProfiles } from './profile-folders.ts';
import { createSlots } from './slots.ts';

export type PageLease = {
  page: Page;
  /** Prepares the next lease of the same recipe, in the background: call it while waiting for the answer. */
  warmNext: () => void;
  /** Gives page and slot back. Returns at once; a context that does not close in time costs its browser. */
  release: () => void;
};

export type BrowserPool = {
  /**
   * A fresh, empty page, at most `concurrency` of them at once. Rejects after `timeoutMs` without a free slot, and as
   * soon as `signal` aborts: the slot is free then, whatever the browser does.
   */
  lease(recipe: PageRecipe, timeoutMs: number, signal: AbortSignal): Promise<PageLease>;
  concurrency: number;
  /** Null before the first browser has come up. */
  sandbox(): Sandbox | null;
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
  /** Default false: with windows, for a person to watch. */
  headed?: boolean;
  clock: Clock;
  log: Logger;
};

const MEMORY_EVERY_MS = 5_000;

/** A pool of Chromium browsers: a fresh context for every capture. Nothing is started before the first lease. */
export function createBrowserPool(options: BrowserPoolOptions): BrowserPool {
  const { executablePath, concurrency, recycle, headed = false, clock, log } = options;
  const slots = createSlots(concurrency);
  const alive = new Set<Live>();
  const ending = new Set<Live>();
  const followed = new Set<Promise<void>>();
  let current: Promise<Live> | null = null;
  /** Which launch a browser came from: so it is known whether it is the current one. */
  const origins = new WeakMap<Live, Promise<Live>>();
  let sandbox: Sandbox | null = null;
  let closed = false;
  let measuredAtMs = -Infinity;

  /** Work that nobody waits for: its failure is told, and `close` waits for its end. */
  function follow(work: Promise<unknown>, failure: string): void {
    const settled = work
      .then(
        () => undefined,
        (error: unknown) => log.warn({ err: error }, failure),
      )
      .finally(() => followed.delete(settled));
    followed.add(settled);
  }

  async function launch(): Promise<Live> {
    if (alive.size === 0) await removeLeakedProfiles(clock.nowMs());
    const launched = await launchBrowser({ executablePath, sandbox, headed });
    sandbox = launched.sandbox;
    const fresh = { bornAtMs: clock.nowMs(), uses: 0, pages: 0, retired: false, warm: new Map(), successor: null };
    const live: Live = { ...launched, ...fresh };
    alive.add(live);
    live.browser.once('disconnected', () => retire(live, 'it is gone'));
    return live;
  }

  function getCurrent(): Promise<Live> {
    if (closed) return Promise.reject(new Error('the browser pool is closed'));
    current ??= track(launch());
    return current;
  }

  /** A launch that fails must not be what every later capture gets. */
  function track(launching: Promise<Live>): Promise<Live> {
    launching.then(
      (live) => origins.set(live, launching),
      () => {
        if (current === launching) current = null;
      },
    );
    return launching;
  }

  async function getUsable(): Promise<Live> {
    for (;;) {
      const live = await getCurrent();
      if (live.retired) {
        if (current === origins.get(live)) current = null;
        continue;
      }
      if (clock.nowMs() - live.bornAtMs >= recycle.ageSeconds * 1000) replace(live, 'it is old');
      return live;
    }
  }

  /** Starts the next browser beside this one, so that no capture waits for it. */
  function prelaunch(live: Live): Promise<Live> {
    if (live.successor !== null) return live.successor;
    const launching = track(launch());
    live.successor = launching;
    launching.catch(() => (live.successor = null));
    follow(launching, 'The next browser did not come up');
    return launching;
  }

  /** Retires a browser once its successor is there; until then it goes on. */
  function replace(live: Live, reason: string): void {
    if (closed || live.retired || live.successor !== null) return;
    const done = (): void => retire(live, reason);
    prelaunch(live).then(done, done);
  }

  function retire(live: Live, reason: string): void {
    if (live.retired) return;
    live.retired = true;
    if (current === origins.get(live)) current = live.successor;
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

  function warmNext(recipe: PageRecipe): void {
    const work = async (): Promise<void> => {
      if (closed) return;
      const live = await getUsable();
      // Where every place is taken, the next capture waits for a processor first, and memory is what is short.
      const isFull = concurrency > 1 && live.pages >= concurrency;
      await prepareWarm(live, recipe, { limit: concurrency, withPage: !isFull });
    };
    follow(work(), 'Could not prepare a context');
  }

  async function openFor(live: Live, recipe: PageRecipe): Promise<Opened> {
    live.pages += 1;
    live.uses += 1;
    try {
      return await openPage(live, recipe);
    } catch (error) {
      retire(live, 'it opens no page');
      leave(live);
      throw error;
    } finally {
      if (live.uses >= recycle.uses) retire(live, 'it was used often enough');
      else if (live.uses >= recycle.uses - concurrency && recycle.uses > concurrency && !closed) void prelaunch(live);
    }
  }

  function leave(live: Live): void {
    live.pages -= 1;
    if (live.retired && live.pages === 0) end(live);
  }

  async function closePage(live: Live, context: BrowserContext): Promise<void> {
    await leaveContext(live, context);
    slots.give();
  }

  /** Never rejects: a context that can't be closed goes with its browser. */
  async function leaveContext(live: Live, context: BrowserContext): Promise<void> {
    try {
      await closeContext(context);
    } catch (error) {
      // When the pool ends, the browser may take its contexts with it.
      if (!closed) log.warn({ err: error }, 'A context did not close');
      retire(live, 'a context did not close');
    } finally {
      leave(live);
    }
  }

  async function replaceWhenBig(live: Live): Promise<void> {
    const nowMs = clock.nowMs();
    if (live.retired || nowMs - measuredAtMs < MEMORY_EVERY_MS) return;
    measuredAtMs = nowMs;
    const memoryMiB = await measureTreeMiB(live.groupId);
    if (memoryMiB !== null && memoryMiB > recycle.memoryMiB) replace(live, `it holds ${Math.round(memoryMiB)} MiB`);
  }

  async function lease(recipe: PageRecipe, timeoutMs: number, signal: AbortSignal): Promise<PageLease> {
    await slots.take(timeoutMs, signal);
    const opening = openAnywhere(recipe, signal);
    try {
      const { live, page, context } = await untilAborted(opening, signal);
      let released = false;
      const release = (): void => {
        if (released) return;
        released = true;
        const closing = closePage(live, context).then(() => replaceWhenBig(live));
        follow(closing, 'A page was not given back cleanly');
      };
      return { page, warmNext: () => warmNext(recipe), release };
    } catch (error) {
      slots.give();
      // One that opens too late belongs to nobody.
      if (signal.aborted)
        follow(
          opening.then(({ live, context }) => leaveContext(live, context)),
          'A page came too late',
        );
      throw error;
    }
  }

  /** A browser that died while nobody used it must not cost a capture: then a fresh one is tried, once. */
  async function openAnywhere(recipe: PageRecipe, signal: AbortSignal): Promise<Opened & { live: Live }> {
    const live = await getUsable();
    const hasServed = live.uses > 0;
    try {
      return { live, ...(await openFor(live, recipe)) };
    } catch (error) {
      if (!hasServed || closed || signal.aborted) throw error;
      log.warn({ err: error }, 'A browser opened no page any more; a fresh one is tried');
    }
    const fresh = await getUsable();
    return { live: fresh, ...(await openFor(fresh, recipe)) };
  }

  async function close(): Promise<void> {
    closed = true;
    slots.close();
    // Those that are just coming up would be nobody's afterwards.
    await current?.catch((error: unknown) => log.debug({ err: error }, 'No browser came up'));
    while (alive.size > 0 || followed.size > 0) {
      current = null;
      for (const live of alive) {
        live.retired = true;
        end(live);
      }
      await Promise.all(followed);
    }
  }

  return {
    lease,
    close,
    concurrency,
    sandbox: () => sandbox,
    processGroups: () => [...alive, ...ending].map(({ groupId }) => groupId),
  };
}

/** The value of `work`, or a rejection as soon as `signal` aborts. The work itself goes on. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(new Error('canceled while a page was opened'));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
