import type { Step } from '../../profile/profile.ts';
import { describeStep, targetOf } from '../../profile/selectors.ts';
import { act } from './act.ts';
import { explainSelector } from './explain-selector.ts';
import { locateSeen } from './frames.ts';
import { look, type Verdict } from './look.ts';
import { explain, leftMs, note, type Visit } from './visit.ts';

const STEP_TIMEOUT_MS = 20_000;
const GLANCE_MS = 500;

/** Why the steps could not be made: the page turned out to be another one, or a step did not work. */
export type StepsEnd = { verdict: Verdict } | { failed: string };
export type StepList = 'ask' | 'read.before' | 'read.leave';

/** Makes the steps in order. Null when all are made. */
export async function makeSteps(visit: Visit, list: StepList, steps: readonly Step[]): Promise<StepsEnd | null> {
  const asking = list === 'ask' ? steps.findIndex((step) => 'with' in step && step.with.includes('{query}')) : -1;
  for (const index of steps.keys()) {
    // What came up since the page did, a greeting for example, can't be the answer either.
    if (index === asking && index > 0) {
      const verdict = await look(visit, 'mark');
      if (verdict.kind !== 'ready') return { verdict };
    }
    const end = await makeStep(visit, list, steps, index);
    if (end !== null) return end;
  }
  return null;
}

async function makeStep(visit: Visit, list: StepList, steps: readonly Step[], index: number): Promise<StepsEnd | null> {
  const { clock, observer } = visit;
  const step = steps[index];
  if (step === undefined) throw new Error(`there is no step ${index}`);
  const startedMs = clock.nowMs();
  const giveUpAtMs = startedMs + Math.min(STEP_TIMEOUT_MS, leftMs(visit));
  const about = { list, index, text: describeStep(step), selector: targetOf(step) };
  await observer?.beforeStep?.(visit.page, about);
  for (let tries = 0; ; tries += 1) {
    try {
      if (tries > 0) await fillAgain(visit, steps.slice(0, index), step);
      await act(visit.page, step, visit.values, Math.max(1, giveUpAtMs - clock.nowMs()));
      await observer?.afterStep?.(visit.page, { ...about, tookMs: clock.nowMs() - startedMs, failure: null });
      return null;
    } catch (error) {
      if (visit.page.isClosed()) throw error;
      const verdict = list === 'ask' ? await look(visit, 'check') : null;
      if (verdict !== null && verdict.kind !== 'ready') return { verdict };
      if (clock.nowMs() < giveUpAtMs) continue;
      const facts = await explainSelector(visit.page, about.selector);
      const reason = facts?.matches === 0 ? 'nothing in the page matches' : explain(error);
      const failed = `Step ${index + 1} of ${list} (${about.text}) did not work: ${reason}`;
      await observer?.afterStep?.(visit.page, { ...about, tookMs: clock.nowMs() - startedMs, failure: failed });
      return { failed };
    }
  }
}

/**
 * A page that is still starting may empty a field that was filled in, and never let the question be sent. A button that
 * can't be clicked says that it was not sent: it must not be asked twice.
 */
async function fillAgain(visit: Visit, before: readonly Step[], step: Step): Promise<void> {
  const fill = before.findLast((earlier) => 'fill' in earlier);
  if (fill === undefined || !('click' in step)) return;
  const glance = { timeout: GLANCE_MS };
  if (!(await locateSeen(visit.page, step.click).isDisabled(glance))) return;
  const field = locateSeen(visit.page, targetOf(fill));
  // Editable content is no input and has no value.
  const text = await field.inputValue(glance).catch(() => field.innerText(glance));
  if (text.trim() !== '') return;
  await act(visit.page, fill, visit.values, leftMs(visit));
  note(visit, 'filled in again');
}
