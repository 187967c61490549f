import type { Frame } from 'playwright-core';
import { DeadlineError, pause } from '../../../runtime/index.ts';
import type { PageCall, PageVerdict } from '../../page/messages.ts';
import { callPage } from '../../page/script.ts';
import type { PlacedPart } from '../../profile/parts.ts';
import { askedAgoMs, explain, leftMs, type Visit } from './visit.ts';

const FRAME_COMES_UP_MS = 100;

/** One call to the script of one document. Null when the document went away under it, or runs no script yet. */
export async function askDocument(
  visit: Visit,
  { part, frames }: PlacedPart,
  frame: Frame,
  call: PageCall,
  settleMs = 0,
): Promise<PageVerdict | null> {
  const { page, profile, task } = visit;
  const { until, ...rest } = part;
  const hasAsked = profile.ask.length > 0;
  const expression = callPage(call, {
    // After the question `until` has served its purpose: the page may take it away.
    part: until === undefined || (call !== 'arrive' && hasAsked) ? rest : part,
    question: hasAsked ? task.query.replace(/\s+/g, ' ').trim() : null,
    budgetMs: leftMs(visit),
    askedAgoMs: askedAgoMs(visit),
    settleMs,
    ignoredConsent: visit.ignoredConsent,
    wantsProof: task.wantsProof,
  });
  try {
    return await frame.evaluate<PageVerdict>(expression);
  } catch (error) {
    if (page.isClosed() || !isNavigation(error, frames.length > 0)) throw error;
    if (leftMs(visit) === 0) throw new DeadlineError('the page kept navigating until the deadline');
    if (frames.length > 0) await pause(FRAME_COMES_UP_MS);
    return null;
  }
}

function isNavigation(error: unknown, inFrame: boolean): boolean {
  const message = explain(error);
  if (/context was destroyed|Cannot find context|frame was detached|because of a navigation/i.test(message))
    return true;
  // The first document of an iframe is empty and runs no script.
  return (
    inFrame && /frame (got|has been|was) detached|reading '(arrive|mark|check|wait|watch|hold|read)'/i.test(message)
  );
}
