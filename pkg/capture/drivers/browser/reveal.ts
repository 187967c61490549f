import type { JSHandle } from 'playwright-core';
import { pause } from '../../../runtime/index.ts';
import { findRevealing, learnRevealed } from '../../page/script.ts';
import type { CitationRule } from '../../profile/profile.ts';
import { findFrame } from './frames.ts';
import { explain, leftMs, note, type Visit } from './visit.ts';

/** A card that is not there by then will not come. */
const SHOWN_WITHIN_MS = 1_000;
const LOOK_EVERY_MS = 25;
const MOST_ITEMS = 40;

/** Asks the page for the links that it shows only on a click or under the pointer, one after the other. */
export async function revealLinks(visit: Visit): Promise<void> {
  for (const { frames, part } of visit.parts) {
    for (const rule of part.read.citations ?? []) {
      if (rule.reveal !== undefined) await revealAll(visit, frames, rule);
    }
  }
}

async function revealAll(visit: Visit, frames: readonly string[], rule: CitationRule): Promise<void> {
  const frame = await findFrame(visit.page, frames);
  if (frame === null) return;
  const list: JSHandle<unknown> = await frame.evaluateHandle(findRevealing(rule));
  const items = [...(await list.getProperties()).values()].map((handle) => handle.asElement());
  let missed = 0;
  for (const [index, item] of items.slice(0, MOST_ITEMS).entries()) {
    const timeout = Math.max(1, Math.min(SHOWN_WITHIN_MS, leftMs(visit)));
    try {
      await (rule.reveal?.by === 'hover' ? item.hover({ timeout }) : item.click({ timeout }));
      const learn = (mayRepeat: boolean) => frame.evaluate<boolean>(learnRevealed(rule, index, mayRepeat));
      // The same link again is what stands there still, until it has stood there for long enough to be meant.
      if (!((await untilTrue(timeout, () => learn(false))) || (await learn(true)))) missed += 1;
      // The card must not stand in front of the next item.
      await visit.page.keyboard.press('Escape');
    } catch (error) {
      if (visit.page.isClosed()) throw error;
      missed += 1;
      visit.log.debug({ reason: explain(error), index }, 'A link could not be revealed');
    }
  }
  await list.dispose();
  note(visit, missed === 0 ? 'links revealed' : `links revealed, ${missed} of ${items.length} not`);
}

async function untilTrue(timeoutMs: number, look: () => Promise<boolean>): Promise<boolean> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    if (await look()) return true;
    if (waitedMs >= timeoutMs) return false;
    await pause(LOOK_EVERY_MS);
  }
}
