import type { Page } from 'playwright-core';
import { pause } from '../../../runtime/index.ts';
import type { Step } from '../../profile/profile.ts';
import { targetOf } from '../../profile/selectors.ts';
import { fillText, type TemplateValues } from '../../profile/template.ts';
import { leaveView, measurePage } from '../../page/script.ts';
import { splitFrames } from '../../profile/selector.ts';
import { findFrame, locate, locateSeen } from './frames.ts';

/** One try is short, so that an overlay that came up meanwhile is seen and dismissed. */
const TRY_TIMEOUT_MS = 2_500;
/** More of the same kind on one page is no list of sources any more. */
const MOST_CLICKS = 50;
const MOST_SCROLLS = 30;
/** A page that has not grown by then is at its end. */
const GROWS_WITHIN_MS = 1_000;
const LOOK_EVERY_MS = 50;

/** Makes one step, once. Rejects when that is not possible within a short while, or `restMs` where that is less. */
export async function act(page: Page, step: Step, values: TemplateValues, restMs: number): Promise<void> {
  const timeout = Math.min(TRY_TIMEOUT_MS, restMs);
  const seen = locateSeen(page, targetOf(step));
  if (step.optional === true && (await seen.count()) === 0) return;
  if ('fill' in step) {
    const text = fillText(step.with, values);
    if (text !== null) {
      await seen.fill(text, { timeout });
      // Searches that answer while one types often look when a key is let go, which filling in has none of.
      await seen.dispatchEvent('keyup', { key: 'End' }, { timeout });
    }
  } else if ('type' in step) {
    const text = fillText(step.with, values);
    if (text !== null) await typeText(page, step.type, text, timeout, restMs);
  } else if ('press' in step) {
    await locate(page, step.press).first().press(step.key, { timeout });
  } else if ('click' in step) {
    if (step.all === true) await clickAll(page, step.click, timeout);
    else await seen.click({ timeout });
  } else if ('hover' in step) {
    await seen.hover({ timeout });
  } else if ('select' in step) {
    const option = fillText(step.option, values);
    if (option !== null) await locate(page, step.select).first().selectOption(option, { timeout });
  } else if ('waitFor' in step) {
    await seen.waitFor({ timeout });
  } else if ('waitGone' in step) {
    await seen.waitFor({ state: 'hidden', timeout });
  } else if (step.all === true) {
    await scrollAll(page, step.scroll, timeout, restMs);
  } else {
    await locate(page, step.scroll).first().scrollIntoViewIfNeeded({ timeout });
  }
}

/** Scrolls to the last match again and again, as long as the page grows by it. */
async function scrollAll(page: Page, selector: string, timeout: number, restMs: number): Promise<void> {
  const { frames, inside } = splitFrames(selector);
  const last = locate(page, selector).last();
  const giveUp = AbortSignal.timeout(restMs);
  const measure = async (): Promise<number> => {
    const frame = await findFrame(page, frames);
    return frame === null ? 0 : await frame.evaluate<number>(measurePage());
  };
  for (let count = 0; count < MOST_SCROLLS && !giveUp.aborted; count += 1) {
    const before = await measure();
    await last.scrollIntoViewIfNeeded({ timeout });
    let grown = false;
    for (let waitedMs = 0; !grown && waitedMs < GROWS_WITHIN_MS; waitedMs += LOOK_EVERY_MS) {
      await pause(LOOK_EVERY_MS, giveUp);
      grown = (await measure()) !== before;
    }
    // What was scrolled to may be gone once there is no more to come.
    if (!grown || (await last.count()) === 0) return;
    await (await findFrame(page, frames))?.evaluate(leaveView(inside));
  }
}

/** Nodes, not places in a list: what was clicked may leave the list. */
async function clickAll(page: Page, selector: string, timeout: number): Promise<void> {
  await locateSeen(page, selector).waitFor({ timeout });
  const handles = await locate(page, selector).filter({ visible: true }).elementHandles();
  for (const handle of handles.slice(0, MOST_CLICKS)) {
    // One click may take others away, or open all of them.
    if (await handle.isVisible()) await handle.click({ timeout });
  }
}

/** Key by key. A line break is typed as Shift+Enter, because Enter alone sends the question in most chats. */
async function typeText(page: Page, selector: string, text: string, timeout: number, restMs: number): Promise<void> {
  const target = locateSeen(page, selector);
  // A try that was cut off must not leave its letters in front of the next one's.
  await target.fill('', { timeout });
  for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
    if (index > 0) await target.press('Shift+Enter', { timeout });
    // Long questions take long: only the beginning of it is a try.
    if (line !== '') await target.pressSequentially(line, { timeout: restMs });
  }
}
