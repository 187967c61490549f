import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { withDeadline } from '../../runtime/index.ts';
import type { LaunchedBrowser } from './launch.ts';

/** How a page is prepared. Recipes with the same `key` are interchangeable. */
export type PageRecipe = { key: string; options: BrowserContextOptions; initScript: string };

export type Opened = { context: BrowserContext; page: Page };

/** A browser of the pool. */
export type Live = LaunchedBrowser & {
  bornAtMs: number;
  /** Leases so far, and those of now. */
  uses: number;
  pages: number;
  retired: boolean;
  /** Pages that wait for the next lease of their recipe, the oldest first. */
  warm: Map<string, Promise<Opened>>;
  /** The browser that takes its place, once that is on its way. */
  successor: Promise<Live> | null;
};

const OPEN_TIMEOUT_MS = 15_000;
const CLOSE_TIMEOUT_MS = 5_000;

/** A fresh context with one empty page. */
export function openPage({ browser }: Live, recipe: PageRecipe): Promise<Opened> {
  const opening = async (): Promise<Opened> => {
    const context = await browser.newContext({
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

/** Rejects when it takes longer than five seconds. */
export function closeContext(context: BrowserContext): Promise<void> {
  return withDeadline(context.close(), CLOSE_TIMEOUT_MS, 'closing a context');
}

/** Takes the page that was prepared for this recipe, when there is one and it still lives. Never rejects. */
export async function takeWarm({ warm }: Live, key: string): Promise<Opened | null> {
  const opening = warm.get(key);
  warm.delete(key);
  try {
    const opened = await opening;
    return opened === undefined || opened.page.isClosed() ? null : opened;
  } catch {
    // Whoever prepared it has told of the failure.
    return null;
  }
}

/**
 * Prepares a page for the next lease of this recipe, unless one waits already. Holds at most `limit` of them: the
 * oldest makes room.
 */
export async function prepareWarm(live: Live, recipe: PageRecipe, limit: number): Promise<void> {
  const { warm } = live;
  if (warm.has(recipe.key)) return;
  const opening = openPage(live, recipe);
  warm.set(recipe.key, opening);
  const forget = (): void => {
    if (warm.get(recipe.key) === opening) warm.delete(recipe.key);
  };
  const [oldest] = warm.keys();
  const evicted = warm.size > limit && oldest !== undefined ? await takeWarm(live, oldest) : null;
  try {
    const { page } = await opening;
    // A page whose renderer died meanwhile looks alive to everyone but to this event.
    page.once('crash', forget);
  } catch (error) {
    forget();
    throw error;
  } finally {
    if (evicted !== null) await closeContext(evicted.context);
  }
}
