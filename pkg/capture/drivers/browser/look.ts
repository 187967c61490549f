import { DeadlineError } from '../../../runtime/index.ts';
import type { PageVerdict } from '../../page/messages.ts';
import { callPage } from '../../page/script.ts';
import { askedAgoMs, explain, leftMs, note, type Visit } from './visit.ts';

const DISMISS_TIMEOUT_MS = 3_000;

export type Verdict = Exclude<PageVerdict, { kind: 'consent' }>;

/**
 * Lets the page's own script look until it has a verdict. Consent overlays are dismissed on the way, and a page that
 * navigates meanwhile is looked at anew.
 */
export async function look(visit: Visit, name: 'arrive' | 'check' | 'wait', settleMs = 0): Promise<Verdict> {
  for (;;) {
    const verdict = await callOnce(visit, name, settleMs);
    if (verdict === null) continue;
    if (verdict.kind !== 'consent') return verdict;
    await dismissConsent(visit, verdict.index);
  }
}

/** Null when the document went away under the script. */
async function callOnce(
  visit: Visit,
  name: 'arrive' | 'check' | 'wait',
  settleMs: number,
): Promise<PageVerdict | null> {
  const { page, profile, task } = visit;
  const { finished, read, classify, go } = profile;
  const expression = callPage(name, {
    profile: {
      finished,
      read,
      ...(classify === undefined ? {} : { classify }),
      // After the question it has served its purpose: the page may take it away.
      go: go.until === undefined || (name === 'wait' && profile.ask.length > 0) ? {} : { until: go.until },
    },
    budgetMs: leftMs(visit),
    askedAgoMs: askedAgoMs(visit),
    settleMs,
    ignoredConsent: visit.ignoredConsent,
    wantsProof: task.wantsProof,
  });
  try {
    return await page.evaluate<PageVerdict>(expression);
  } catch (error) {
    if (page.isClosed() || !isNavigation(error)) throw error;
    if (leftMs(visit) === 0) throw new DeadlineError('the page kept navigating until the deadline');
    return null;
  }
}

function isNavigation(error: unknown): boolean {
  return /context was destroyed|Cannot find context|frame was detached|because of a navigation/i.test(explain(error));
}

async function dismissConsent(visit: Visit, index: number): Promise<void> {
  const rule = visit.profile.classify?.consent?.[index];
  if (rule === undefined) return;
  const timeout = Math.max(1, Math.min(DISMISS_TIMEOUT_MS, leftMs(visit)));
  try {
    await visit.page.locator(rule.dismiss).first().click({ timeout });
    await visit.page.locator(rule.when).first().waitFor({ state: 'hidden', timeout });
    note(visit, 'consent dismissed');
  } catch (error) {
    if (visit.page.isClosed()) throw error;
    // The answer may come all the same; asking through the overlay fails with its own message if not.
    visit.ignoredConsent.push(index);
    visit.log.warn({ err: error, rule: rule.when }, 'A consent overlay did not go away');
  }
}
