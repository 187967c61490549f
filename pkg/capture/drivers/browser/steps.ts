import type { Page } from 'playwright-core';
import type { Step } from '../../profile/profile.ts';
import { fillText, type TemplateValues } from '../../profile/template.ts';
import { look, type Verdict } from './look.ts';
import { explain, leftMs, type Visit } from './visit.ts';

/** One try is short, so that an overlay that came up meanwhile is seen and dismissed. */
const TRY_TIMEOUT_MS = 2_500;
const STEP_TIMEOUT_MS = 20_000;

/** Why the steps could not be made: the page turned out to be another one, or a step did not work. */
export type StepsEnd = { verdict: Verdict } | { failed: string };

/** Makes the steps in order. Null when all are made. */
export async function makeSteps(visit: Visit, steps: readonly Step[]): Promise<StepsEnd | null> {
  for (const [index, step] of steps.entries()) {
    const end = await makeStep(visit, step, index);
    if (end !== null) return end;
  }
  return null;
}

async function makeStep(visit: Visit, step: Step, index: number): Promise<StepsEnd | null> {
  const giveUpAtMs = visit.clock.nowMs() + Math.min(STEP_TIMEOUT_MS, leftMs(visit));
  for (;;) {
    const restMs = giveUpAtMs - visit.clock.nowMs();
    try {
      await act(visit.page, step, visit.values, Math.max(1, Math.min(TRY_TIMEOUT_MS, restMs)));
      return null;
    } catch (error) {
      if (visit.page.isClosed()) throw error;
      const verdict = await look(visit, 'check');
      if (verdict.kind !== 'ready') return { verdict };
      if (visit.clock.nowMs() >= giveUpAtMs)
        return { failed: `Step ${index + 1} (${describeStep(step)}) did not work: ${explain(error)}` };
    }
  }
}

function describeStep(step: Step): string {
  const [verb, target] = Object.entries(step)[0] ?? ['', ''];
  return `${verb} ${String(target)}`;
}

async function act(page: Page, step: Step, values: TemplateValues, timeout: number): Promise<void> {
  if ('fill' in step) {
    const text = fillText(step.with, values);
    if (text !== null) await page.locator(step.fill).first().fill(text, { timeout });
  } else if ('type' in step) {
    const text = fillText(step.with, values);
    if (text !== null) await typeText(page, step.type, text, timeout);
  } else if ('press' in step) {
    await page.locator(step.press).first().press(step.key, { timeout });
  } else if ('click' in step) {
    const target = page.locator(step.click).first();
    if (step.optional !== true || (await target.isVisible())) await target.click({ timeout });
  } else if ('select' in step) {
    const option = fillText(step.option, values);
    if (option !== null) await page.locator(step.select).first().selectOption(option, { timeout });
  } else if ('waitFor' in step) {
    await page.locator(step.waitFor).first().waitFor({ timeout });
  } else {
    await page.locator(step.scroll).first().scrollIntoViewIfNeeded({ timeout });
  }
}

/** Key by key. A line break is typed as Shift+Enter, because Enter alone sends the question in most chats. */
async function typeText(page: Page, selector: string, text: string, timeout: number): Promise<void> {
  const target = page.locator(selector).first();
  // A try that was cut off must not leave its letters in front of the next one's.
  await target.fill('', { timeout });
  for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
    if (index > 0) await target.press('Shift+Enter', { timeout });
    if (line !== '') await target.pressSequentially(line, { timeout });
  }
}
