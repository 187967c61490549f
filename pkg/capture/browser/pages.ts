import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { DeadlineError, withDeadline } from '../../runtime/index.ts';
import type { LaunchedBrowser } from './launch.ts';

/** How a page is prepared. Recipes with the same `key` are interchangeable. */
export type PageRecipe = { key: string; options: BrowserContextOptions; initScript: string };

export type Opened = { context: BrowserContext; page: Page };

/** A context that nobody uses yet, with its page or without. */
type Warm = { context: BrowserContext; page: Page | null };

/** A browser of the pool. */
export type Live = LaunchedBrowser & {
  bornAtMs: number;
  /** Leases so far, and those of now. */
  uses: number;
  pages: number;
  retired: boolean;
  /** What waits for the next lease of its recipe, the oldest first. */
  warm: Map<string, Promise<Warm>>;
  /** The browser that takes its place, once that is on its way. */
  successor: Promise<Live> | null;
};

const OPEN_TIMEOUT_MS = 15_000;
/** A hung page holds its slot for five seconds beyond its deadline at most: one of them is for the last steps there. */
const CLOSE_TIMEOUT_MS = 3_500;

/** A page in a context of its own, prepared beforehand where one of this recipe was. */
export async function openPage(live: Live, recipe: PageRecipe): Promise<Opened> {
  const warm = await takeWarm(live, recipe.key);
  const context = warm?.context ?? (await openContext(live, recipe));
  const page = warm?.page ?? null;
  if (page === null || page.isClosed()) return { context, page: await addPage(context) };
  // Its browser may have died since: only an answer tells, the news of the death comes late.
  await inTime(page.evaluate('0'), 'a prepared page');
  return { context, page };
}

/** A browser that opens nothing in this time is broken: that is no time-out of the surface, and worth another attempt. */
async function inTime<T>(opening: Promise<T>, what: string): Promise<T> {
  try {
    return await withDeadline(opening, OPEN_TIMEOUT_MS, `opening ${what}`);
  } catch (error) {
    throw error instanceof DeadlineError ? new Error(error.message, { cause: error }) : error;
  }
}

function addPage(context: BrowserContext): Promise<Page> {
  return inTime(context.newPage(), 'a page');
}

function openContext({ browser }: Live, recipe: PageRecipe): Promise<BrowserContext> {
  const opening = async (): Promise<BrowserContext> => {
    const context = await browser.newContext({
      ...recipe.options,
      // Downloads would fill the disk, and a service worker would answer in the place of the engine.
      acceptDownloads: false,
      serviceWorkers: 'block',
    });
    await context.addInitScript({ content: recipe.initScript });
    return context;
  };
  return inTime(opening(), 'a context');
}

/** Rejects when it takes longer than three and a half seconds. */
export function closeContext(context: BrowserContext): Promise<void> {
  return withDeadline(context.close(), CLOSE_TIMEOUT_MS, 'closing a context');
}

async function takeWarm({ warm }: Live, key: string): Promise<Warm | null> {
  const opening = warm.get(key);
  warm.delete(key);
  try {
    return (await opening) ?? null;
  } catch {
    // Whoever prepared it has told of the failure.
    return null;
  }
}

/**
 * Prepares the next lease of this recipe, unless one waits already. At most `limit` wait: the oldest makes room. The page
 * costs a renderer's memory and saves its time: `withPage` says which counts more.
 */
export async function prepareWarm(
  live: Live,
  recipe: PageRecipe,
  { limit, withPage }: { limit: number; withPage: boolean },
): Promise<void> {
  const { warm } = live;
  if (warm.has(recipe.key)) return;
  const forget = (): void => {
    if (warm.get(recipe.key) === opening) warm.delete(recipe.key);
  };
  const open = async (): Promise<Warm> => {
    const context = await openContext(live, recipe);
    const page = withPage ? await addPage(context) : null;
    // A page whose renderer died meanwhile looks alive to everyone but to this event.
    page?.once('crash', forget);
    return { context, page };
  };
  const opening = open();
  warm.set(recipe.key, opening);
  const [oldest] = warm.keys();
  const evicted = warm.size > limit && oldest !== undefined ? await takeWarm(live, oldest) : null;
  try {
    await opening;
  } catch (error) {
    forget();
    throw error;
  } finally {
    if (evicted !== null) await closeContext(evicted.context);
  }
}
