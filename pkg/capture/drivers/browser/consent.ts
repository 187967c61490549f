import { act } from './act.ts';
import { locate, locateSeen } from './frames.ts';
import { explain, leftMs, note, type Visit } from './visit.ts';

const DISMISS_TIMEOUT_MS = 3_000;

/** Makes an overlay go away as its rule says. One that stays is left alone from then on. */
export async function dismissConsent(visit: Visit, index: number): Promise<void> {
  const rule = visit.profile.classify?.consent?.[index];
  if (rule === undefined) return;
  const timeout = Math.max(1, Math.min(DISMISS_TIMEOUT_MS, leftMs(visit)));
  try {
    if ('steps' in rule) {
      for (const step of rule.steps) await act(visit.page, step, visit.values, timeout);
      note(visit, 'consent dismissed');
    } else {
      const clicked = await clickFirst(visit, [rule.dismiss].flat(), timeout);
      note(visit, `consent dismissed by ${clicked}`);
    }
    await locateSeen(visit.page, rule.when).waitFor({ state: 'hidden', timeout });
  } catch (error) {
    if (visit.page.isClosed()) throw error;
    // The answer may come all the same; asking through the overlay fails with its own message if not.
    visit.ignoredConsent.push(index);
    note(visit, `consent ${index + 1} did not go away: ${explain(error)}`);
    visit.log.warn({ reason: explain(error), rule: rule.when }, 'A consent overlay did not go away');
  }
}

/** The order is the author's preference, so a later one is clicked only where no earlier one is to be seen. */
async function clickFirst({ page }: Visit, selectors: readonly string[], timeout: number): Promise<string> {
  const [first = ''] = selectors;
  const any = selectors.map((selector) => locateSeen(page, selector));
  await any
    .reduce((all, one) => all.or(one))
    .first()
    .waitFor({ timeout });
  for (const selector of selectors) {
    if ((await locate(page, selector).filter({ visible: true }).count()) === 0) continue;
    await locateSeen(page, selector).click({ timeout });
    return selector;
  }
  await locateSeen(page, first).click({ timeout });
  return first;
}
