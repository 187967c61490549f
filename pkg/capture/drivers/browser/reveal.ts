import type { JSHandle } from 'playwright-core';
import { pause } from '../../../runtime/index.ts';
import { findRevealing, learnRevealed } from '../../page/script.ts';
import type { CitationRule } from '../../profile/profile.ts';
import { findFrame } from './frames.ts';
import { explain, leftMs, note, type Visit } from './visit.ts';

/** A card that is not there by then will not come. */
const SHOWN_WITHIN_MS = 4_000;
/** What still shows the link of the item before by then is meant to: both cite the same. */
const REPEATED_AFTER_MS = 1_000;
const LOOK_EVERY_MS = 25;
const MOST_ITEMS = 40;
/** A page that has shown nothing so often shows nothing. */
const MOST_MISSES_IN_A_ROW = 3;

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
  let revealed = 0;
  let missedInARow = 0;
  for (const [index, item] of items.slice(0, MOST_ITEMS).entries()) {
    if (missedInARow === MOST_MISSES_IN_A_ROW) break;
    let shown = false;
    const timeout = Math.max(1, Math.min(SHOWN_WITHIN_MS, leftMs(visit)));
    try {
      await (rule.reveal?.by === 'hover' ? item.hover({ timeout }) : item.click({ timeout }));
      shown = await untilTrue(timeout, (waitedMs) =>
        frame.evaluate<boolean>(learnRevealed(rule, index, waitedMs >= REPEATED_AFTER_MS)),
      );
      // The card must not stand in front of the next item.
      await visit.page.keyboard.press('Escape');
    } catch (error) {
      if (visit.page.isClosed()) throw error;
      visit.log.debug({ reason: explain(error), index }, 'A link could not be revealed');
    }
    revealed += shown ? 1 : 0;
    missedInARow = shown ? 0 : missedInARow + 1;
  }
  await list.dispose();
  const missed = items.length - revealed;
  note(visit, missed === 0 ? 'links revealed' : `links revealed, ${missed} of ${items.length} not`);
}

async function untilTrue(timeoutMs: number, look: (waitedMs: number) => Promise<boolean>): Promise<boolean> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    if (await look(waitedMs)) return true;
    if (waitedMs >= timeoutMs) return false;
    await pause(LOOK_EVERY_MS);
  }
}
