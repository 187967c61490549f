import type { Frame } from 'playwright-core';
import { pause } from '../../../runtime/index.ts';
import type { PageVerdict } from '../../page/messages.ts';
import { askDocument } from './ask.ts';
import { dismissConsent } from './consent.ts';
import { findFrame } from './frames.ts';
import { waitInFrames } from './look-frames.ts';
import { leftMs, type Visit } from './visit.ts';

const FRAME_COMES_UP_MS = 100;

export type Verdict = Exclude<PageVerdict, { kind: 'consent' } | { kind: 'superseded' }>;

/**
 * Lets the page's own script look until it has a verdict. Consent overlays are dismissed on the way, and a page that
 * navigates meanwhile is looked at anew.
 */
export async function look(visit: Visit, call: 'arrive' | 'mark' | 'check' | 'wait', settleMs = 0): Promise<Verdict> {
  for (;;) {
    const verdict = await lookOnce(visit, call, settleMs);
    if (verdict === null || verdict.kind === 'superseded') continue;
    if (verdict.kind !== 'consent') return verdict;
    await dismissConsent(visit, verdict.index);
  }
}

async function lookOnce(
  visit: Visit,
  call: 'arrive' | 'mark' | 'check' | 'wait',
  settleMs: number,
): Promise<PageVerdict | null> {
  const [top, ...inside] = visit.parts;
  if (top === undefined) throw new Error('a profile has a part for the page itself');
  if (call === 'wait')
    return inside.length === 0
      ? askDocument(visit, top, visit.page.mainFrame(), call, settleMs)
      : waitInFrames(visit, settleMs);
  for (const placed of visit.parts) {
    const { frames, part } = placed;
    if (call === 'mark' && !part.holdsAnswer) continue;
    const mustCome = call === 'arrive' && part.until !== undefined;
    const frame = mustCome ? await awaitFrame(visit, frames) : await findFrame(visit.page, frames);
    if (frame === null) continue;
    const verdict = await askDocument(visit, placed, frame, call, settleMs);
    if (verdict?.kind !== 'ready') return verdict;
  }
  return { kind: 'ready', held: true, signals: [] };
}

/** Null when it has not come up by the deadline. */
async function awaitFrame(visit: Visit, frames: readonly string[]): Promise<Frame | null> {
  for (;;) {
    const frame = await findFrame(visit.page, frames);
    if (frame !== null || leftMs(visit) === 0) return frame;
    await pause(FRAME_COMES_UP_MS);
  }
}
