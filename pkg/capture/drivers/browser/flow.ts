import { DeadlineError } from '../../../runtime/index.ts';
import type { CaptureResult } from '../../outcome.ts';
import { fillText, fillUrl } from '../../profile/template.ts';
import { look, type Verdict } from './look.ts';
import { checkProof, effectiveRegion, refuse, toResult } from './results.ts';
import { makeSteps } from './steps.ts';
import { followStreams, type Streams } from './streams.ts';
import { explain, leftMs, note, type Visit } from './visit.ts';

/** After something outside the text has changed (a stream ended, a list was opened), the page may draw once more. */
const SETTLE_MS = 250;

/** Opens the page, asks, waits for the answer and reads it. Throws only when page or browser broke. */
export async function runVisit(visit: Visit): Promise<CaptureResult> {
  try {
    const { page, profile } = visit;
    const streams = followStreams(page, profile.finished.streams ?? []);
    const refused = await openPage(visit);
    if (refused !== null) return refused;
    const ended = await askQuestion(visit);
    if (ended !== null) return ended;
    visit.warmNext();
    return await awaitAnswer(visit, streams);
  } catch (error) {
    if (visit.page.isClosed()) throw error;
    if (error instanceof DeadlineError || leftMs(visit) === 0)
      return { outcome: 'timeout', detail: `No text within ${visit.task.timeoutMs} ms: ${explain(error)}` };
    return await refuse(visit, 'unusable', `The page could not be read: ${explain(error)}`);
  }
}

async function openPage(visit: Visit): Promise<CaptureResult | null> {
  const { page, profile, values } = visit;
  await prepareRequests(visit);
  try {
    // The rest of the load is waited for inside the page: an answer may stream into the document itself.
    await page.goto(fillUrl(profile.go.url, values), { waitUntil: 'commit', timeout: Math.max(1, leftMs(visit)) });
    return null;
  } catch (error) {
    if (page.isClosed()) throw error;
    if (leftMs(visit) === 0) return { outcome: 'timeout', detail: 'The page did not answer before the deadline.' };
    return await refuse(visit, 'unusable', `The page could not be opened: ${explain(error)}`);
  }
}

async function prepareRequests({ page, profile, values }: Visit): Promise<void> {
  const headers = Object.entries(profile.go.headers ?? {}).flatMap(([name, template]): [string, string][] => {
    const value = fillText(template, values);
    return value === null ? [] : [[name, value.replace(/[\r\n]+/g, ' ')]];
  });
  if (headers.length > 0) await page.setExtraHTTPHeaders(Object.fromEntries(headers));
  const { abortTypes = [], abortUrls = [] } = profile.fetch ?? {};
  const types = new Set<string>(abortTypes);
  // Interception costs a round trip for every request, so it is on only where the profile asks for it.
  if (types.size > 0) {
    await page.route('**/*', (route) => (types.has(route.request().resourceType()) ? route.abort() : route.fallback()));
  }
  for (const glob of abortUrls) await page.route(glob, (route) => route.abort());
}

async function askQuestion(visit: Visit): Promise<CaptureResult | null> {
  const { ask } = visit.profile;
  if (ask.length > 0) {
    const verdict = await look(visit, 'arrive');
    if (verdict.kind !== 'ready') return await conclude(visit, verdict);
    if (leftMs(visit) === 0) return { outcome: 'timeout', detail: 'The page was not ready before the deadline.' };
  }
  const end = await makeSteps(visit, ask);
  if (end !== null) return await ('verdict' in end ? conclude(visit, end.verdict) : refuseOrTimeOut(visit, end.failed));
  visit.askedAtMs = visit.clock.nowMs();
  return null;
}

async function refuseOrTimeOut(visit: Visit, detail: string): Promise<CaptureResult> {
  return leftMs(visit) === 0 ? { outcome: 'timeout', detail } : await refuse(visit, 'unusable', detail);
}

async function awaitAnswer(visit: Visit, streams: Streams): Promise<CaptureResult> {
  const { before = [] } = visit.profile.read;
  const settleMs = Math.min(SETTLE_MS, visit.profile.finished.quietMs);
  let isOpened = before.length === 0;
  let verdict = await look(visit, 'wait');
  while (verdict.kind === 'finished') {
    if (streams.isPending()) {
      await streams.waitForEnd(leftMs(visit));
      note(visit, 'streams ended');
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
  const end = await makeSteps(visit, visit.profile.read.before ?? []);
  if (end === null) return;
  const reason = 'failed' in end ? end.failed : end.verdict.kind;
  visit.log.warn({ captureId: visit.task.captureId, reason }, 'Something could not be opened before reading');
  note(visit, 'not all opened');
}

async function conclude(visit: Visit, verdict: Verdict): Promise<CaptureResult> {
  switch (verdict.kind) {
    case 'finished':
    case 'late':
      return toResult(visit, verdict.kind, verdict.reading, verdict.signals);
    case 'absent':
      return {
        outcome: 'absent',
        effectiveRegion: effectiveRegion(visit.profile, visit.task),
        proofHtml: checkProof(visit, verdict.proofHtml),
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
