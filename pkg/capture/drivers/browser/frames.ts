import type { Frame, Locator, Page } from 'playwright-core';
import { splitFrames } from '../../profile/selector.ts';

/** The document that the iframes lead to; null while one of them is not there. */
export async function findFrame(page: Page, frames: readonly string[]): Promise<Frame | null> {
  let frame = page.mainFrame();
  for (const selector of frames) {
    const [handle] = await frame.locator(`css=${selector}`).elementHandles();
    const inside = await handle?.contentFrame();
    await handle?.dispose();
    if (!inside) return null;
    frame = inside;
  }
  return frame;
}

/** Everything that a selector of a profile finds, iframes included. */
export function locate(page: Page, selector: string): Locator {
  const { frames, inside } = splitFrames(selector);
  let place: Pick<Page, 'locator'> = page;
  for (const frame of frames) place = place.locator(`css=${frame}`).first().contentFrame();
  return place.locator(`css=${inside}`);
}

/** The first match that a person sees: pages often hold a hidden twin for another size of the window. */
export function locateSeen(page: Page, selector: string): Locator {
  return locate(page, selector).filter({ visible: true }).first();
}
