import type { Page } from 'playwright-core';
import { explainSelector as expressionFor } from '../../page/script.ts';
import { splitFrames } from '../../profile/selector.ts';
import { findFrame } from './frames.ts';

/** What a page has for a selector, for whoever writes the lane. */
export type SelectorFacts = {
  matches: number;
  visible: number;
  /** The first match, in short. */
  first: string | null;
  /** Where nothing matches: the longest beginning that does, what does not, and what the page has near it. */
  holds: string | null;
  fails: string | null;
  nearby: { selector: string; matches: number }[];
};

/** Null where the page does not let itself be asked, for example while it loads. */
export async function explainSelector(page: Page, selector: string): Promise<SelectorFacts | null> {
  const { frames, inside } = splitFrames(selector);
  try {
    const frame = await findFrame(page, frames);
    if (frame !== null) return await frame.evaluate<SelectorFacts>(expressionFor(inside));
    const [missing = ''] = frames;
    const { holds, fails, nearby } = await page.mainFrame().evaluate<SelectorFacts>(expressionFor(missing));
    return { matches: 0, visible: 0, first: null, holds, fails: fails ?? `the iframe ${missing}`, nearby };
  } catch (error) {
    if (page.isClosed()) throw error;
    return null;
  }
}
