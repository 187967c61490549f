import { DeadlineError, pause, withDeadline } from '../../../runtime/index.ts';
import type { CaptureResult, ReadinessSignal } from '../../outcome.ts';
import type { PageReading } from '../../page/messages.ts';
import type { Step } from '../../profile/profile.ts';
import { followFailures } from './failures.ts';
import { look, type Verdict } from './look.ts';
import { openPage } from './open.ts';
import { checkProof, effectiveRegion, mergeSignals, refuse, toResult } from './results.ts';
import { takePicture } from './picture.ts';
import { followPieces, type Pieces } from './pieces.ts';
import { revealLinks } from './reveal.ts';
import { makeSteps } from './steps.ts';
import { followStreams, type Streams } from './streams.ts';
import { askedAgoMs, explain, leftMs, note, type Visit } from './visit.ts';

/** After something outside the text has changed (a stream ended, a list was opened), the page may draw once more. */
const SETTLE_MS = 100;
const LEAVE_MS = 2_000;
const NETWORK_CHANGED = "The network of the lane's machine changed while the page was open.";

/** Opens the page, asks, waits for the answer and reads it. Throws only when page or browser broke. */
export async function runVisit(visit: Visit): Promise<CaptureResult> {
  const failed: ReadinessSignal[] = [];
  const failures = followFailures(visit.page, (name) => failed.push({ name, atMs: askedAgoMs(visit) }));
  const result = await tryVisit(visit);
  const { signals = visit.signals } = result;
  // Where there is an answer, what else the page lacked is nobody's concern.
  if (!('detail' in result)) return { ...result, signals };
  const isOurs = result.outcome !== 'blocked' && failures.wereOfMachine();
  const ended = isOurs ? ({ outcome: 'crashed', detail: NETWORK_CHANGED } as const) : result;
  return { ...ended, signals: [...signals, ...failed].sort((a, b) => a.atMs - b.atMs) };
}

/** What is to be done once the result stands: it is never lost by it. Ends within two seconds, but for an observer. */
export async function endVisit(visit: Visit, result: CaptureResult): Promise<void> {
  if (visit.page.isClosed()) return;
  try {
    await visit.observer?.leaving?.(visit.page, result);
    const { leave } = visit.profile.read;
    if (visit.askedAtMs === null || leave === undefined) return;
    const answerByMs = visit.clock.nowMs() + LEAVE_MS;
    await withDeadline(makeLastSteps({ ...visit, answerByMs }, leave), LEAVE_MS, 'the last steps');
  } catch (error) {
    // Said to the engine, not needed by us.
    visit.log.debug({ reason: explain(error) }, 'A page was not left as told');
  }
}

/** The page is closed after it, which cuts off what it sends: what the steps made it send is answered first. */
async function makeLastSteps(visit: Visit, steps: readonly Step[]): Promise<void> {
  const answers: Promise<unknown>[] = [];
  visit.page.on('request', (request) => {
    // Without an answer it has left all the same, or never will.
    answers.push(request.response().catch(() => null));
  });
  await makeSteps(visit, 'read.leave', steps);
  await pause(SETTLE_MS);
  await Promise.all(answers);
}

async function tryVisit(visit: Visit): Promise<CaptureResult> {
  try {
    const { page, profile, clock } = visit;
    const { streams: rules = [], quietMs } = profile.finished;
    const streams = followStreams(page, { rules, quietMs, clock, note: (name) => note(visit, name) });
    const pieces = followPieces(page, clock, () => visit.isAsking);
    await visit.observer?.starting?.(page);
    const refused = await openPage(visit);
    if (refused !== null) return refused;
    const ended = await askQuestion(visit);
    if (ended !== null) return ended;
    visit.warmNext();
    return await awaitAnswer(visit, streams, pieces);
  } catch (error) {
    if (visit.page.isClosed()) throw error;
    if (error instanceof DeadlineError || leftMs(visit) === 0)
      return { outcome: 'timeout', detail: `No text within ${visit.task.timeoutMs} ms: ${explain(error)}` };
    return await refuse(visit, 'unusable', `The page could not be read: ${explain(error)}`);
  }
}

async function askQuestion(visit: Visit): Promise<CaptureResult | null> {
  const { ask } = visit.profile;
  if (ask.length > 0) {
    const verdict = await look(visit, 'arrive');
    if (verdict.kind !== 'ready') return await conclude(visit, verdict);
    if (leftMs(visit) === 0) return { outcome: 'timeout', detail: 'The page was not ready before the deadline.' };
  }
  visit.isAsking = ask.length > 0;
  const end = await makeSteps(visit, 'ask', ask);
  if (end !== null) return await ('verdict' in end ? conclude(visit, end.verdict) : refuseOrTimeOut(visit, end.failed));
  visit.askedAtMs = visit.clock.nowMs();
  return null;
}

async function refuseOrTimeOut(visit: Visit, detail: string): Promise<CaptureResult> {
  return leftMs(visit) === 0 ? { outcome: 'timeout', detail } : await refuse(visit, 'unusable', detail);
}

async function awaitAnswer(visit: Visit, streams: Streams, pieces: Pieces): Promise<CaptureResult> {
  const { before = [], citations = [] } = visit.profile.read;
  const hidden = before.length > 0 || citations.some(({ reveal }) => reveal !== undefined);
  const settleMs = Math.min(SETTLE_MS, visit.profile.finished.quietMs);
  let isOpened = !hidden;
  let verdict = await look(visit, 'wait');
  while (verdict.kind === 'finished') {
    if (streams.isPending()) {
      await streams.waitForEnd(leftMs(visit));
    } else if (pieces.isPending()) {
      await pieces.waitForEnd(leftMs(visit));
      note(visit, 'scripts loaded');
    } else if (!isOpened) {
      isOpened = true;
      await openBeforeReading(visit);
    } else break;
    verdict = await look(visit, 'wait', settleMs);
  }
  return await conclude(visit, verdict);
}

/** The answer stands there already: a list that can't be opened costs its entries, never the answer. */
async function openBeforeReading(visit: Visit): Promise<void> {
  // What marked the end may be what is clicked: a "Show more" goes away with the click.
  visit.parts = visit.parts.map(({ frames, part }) => ({ frames, part: { ...part, markers: [] } }));
  const end = await makeSteps(visit, 'read.before', visit.profile.read.before ?? []);
  if (end !== null) {
    const reason = 'failed' in end ? end.failed : end.verdict.kind;
    visit.log.warn({ captureId: visit.task.captureId, reason }, 'Something could not be opened before reading');
    note(visit, 'not all opened');
  }
  await revealLinks(visit);
}

async function conclude(visit: Visit, verdict: Verdict): Promise<CaptureResult> {
  switch (verdict.kind) {
    case 'finished':
    case 'late':
      return await addPicture(visit, verdict.reading, toResult(visit, verdict.kind, verdict.reading, verdict.signals));
    case 'absent':
      return {
        outcome: 'absent',
        effectiveRegion: effectiveRegion(visit.profile, visit.task),
        proofHtml: checkProof(visit, verdict.proofHtml),
        signals: mergeSignals(visit, verdict.signals),
      };
    case 'blocked':
      return await refuse(visit, 'blocked', verdict.detail);
    case 'failed':
    case 'unusable':
      return await refuse(visit, 'unusable', verdict.detail);
    case 'ready':
      return await refuse(visit, 'unusable', 'The page did not hold still to be read.');
  }
}

async function addPicture(visit: Visit, read: PageReading, result: CaptureResult): Promise<CaptureResult> {
  if (!visit.wantsPicture || !('answer' in result)) return result;
  const proofPng = await takePicture(visit, read);
  return proofPng === null ? result : { ...result, proofPng };
}
