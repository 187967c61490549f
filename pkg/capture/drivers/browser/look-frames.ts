import type { Frame } from 'playwright-core';
import { DeadlineError, pause } from '../../../runtime/index.ts';
import type { PageReading, PageVerdict } from '../../page/messages.ts';
import type { PlacedPart } from '../../profile/parts.ts';
import { askDocument } from './ask.ts';
import { findFrame } from './frames.ts';

import { leftMs, type Visit } from './visit.ts';

const LOOK_FOR_FRAMES_EVERY_MS = 150;
/** What another document showed at once, it showed in the moment of the answer's end. */
const AT_ONCE_MS = 100;

type Placed = { placed: PlacedPart; frame: Frame };

/**
 * Waits for the answer where a page consists of several documents: the one with the answer waits for its end, the others
 * are watched for what ends the capture, and asked at the end whether they show the end too. Null when documents came,
 * went or changed meanwhile: then all are looked at anew.
 */
export async function waitInFrames(visit: Visit, settleMs: number): Promise<PageVerdict | null> {
  const home = visit.parts.find(({ part }) => part.holdsAnswer);
  const others = visit.parts.filter((placed) => placed !== home);
  if (home === undefined) throw new Error('a profile has a part with the answer');
  const frame = await findFrame(visit.page, home.frames);
  const present = await findPresent(visit, others);
  if (frame === null) return await awaitHome(visit, home, present);

  const over = new AbortController();
  const missing = others.filter((placed) => !present.some((found) => found.placed === placed));
  const answer = askDocument(visit, home, frame, 'wait', settleMs);
  const interruptions = present.map(async ({ placed, frame: beside }) => {
    const verdict = await askDocument(visit, placed, beside, 'watch');
    // At its deadline a watcher has nothing to say: the answer's own verdict is on its way.
    return verdict?.kind === 'ready' ? await answer : verdict;
  });
  const arrivals = missing.map((placed) => awaitArrival(visit, placed, over.signal));
  const all = [answer, ...interruptions, ...arrivals];
  // Those that come second are of no interest any more, their failures neither: the first one's counts.
  const quiet = Promise.allSettled(all);
  let verdict: PageVerdict | null;
  try {
    verdict = await Promise.race(all);
  } finally {
    over.abort();
    void quiet;
  }
  if (verdict?.kind !== 'finished' && verdict?.kind !== 'late') return verdict;
  return await agree(visit, verdict, present, missing);
}

async function findPresent(visit: Visit, parts: readonly PlacedPart[]): Promise<Placed[]> {
  const found: Placed[] = [];
  for (const placed of parts) {
    const frame = await findFrame(visit.page, placed.frames);
    if (frame !== null) found.push({ placed, frame });
  }
  return found;
}

/** The answer's document is not there yet: what else there is may say why. */
async function awaitHome(visit: Visit, home: PlacedPart, present: readonly Placed[]): Promise<PageVerdict | null> {
  for (const { placed, frame } of present) {
    const verdict = await askDocument(visit, placed, frame, 'check');
    if (verdict?.kind !== 'ready') return verdict;
  }
  if (leftMs(visit) === 0) throw new DeadlineError(`the iframe ${home.frames.join(' >>> ')} is not there`);
  await pause(LOOK_FOR_FRAMES_EVERY_MS);
  return null;
}

async function awaitArrival(visit: Visit, { frames }: PlacedPart, over: AbortSignal): Promise<null> {
  while (!over.aborted && !visit.page.isClosed() && leftMs(visit) > 0) {
    if ((await findFrame(visit.page, frames)) !== null) return null;
    await pause(LOOK_FOR_FRAMES_EVERY_MS, over);
  }
  // Never the first: the race is over, or the answer's own deadline ends it.
  return await new Promise<null>(() => undefined);
}

type Read = Extract<PageVerdict, { reading: PageReading }>;

/** The answer is there; the other documents must show the end too, and add what they have. */
async function agree(
  visit: Visit,
  verdict: Read,
  present: readonly Placed[],
  missing: readonly PlacedPart[],
): Promise<PageVerdict | null> {
  let whole: Read = verdict;
  for (const { placed, frame } of present) {
    if (verdict.kind === 'finished') {
      const startedMs = visit.clock.nowMs();
      const held = await askDocument(visit, placed, frame, 'hold');
      if (held?.kind !== 'ready') return held;
      // It was late: the text may have changed since.
      if (visit.clock.nowMs() - startedMs > AT_ONCE_MS && leftMs(visit) > 0) return null;
      whole = { ...whole, kind: held.held ? whole.kind : 'late' };
    }
    const more = await askDocument(visit, placed, frame, 'read');
    if (more?.kind !== 'finished') return null;
    whole = { ...whole, signals: [...whole.signals, ...more.signals], reading: join(whole.reading, more.reading) };
  }
  if (verdict.kind === 'finished' && missing.some(isNeeded)) {
    if (leftMs(visit) > 0) {
      await pause(LOOK_FOR_FRAMES_EVERY_MS);
      return null;
    }
    return { ...whole, kind: 'late' };
  }
  return whole;
}

/** A document that is not there shows nothing, which is what `gone` and `hidden` ask for. */
function isNeeded({ part }: PlacedPart): boolean {
  return part.markers.some(({ marker }) => !('gone' in marker) && !('hidden' in marker));
}

function join(answer: PageReading, more: PageReading): PageReading {
  const searched = [answer.webSearch, more.webSearch];
  return {
    ...answer,
    listed: [...answer.listed, ...more.listed],
    results: [...answer.results, ...more.results],
    fanOut: [...new Set([...answer.fanOut, ...more.fanOut])],
    modelLabel: answer.modelLabel ?? more.modelLabel,
    webSearch: searched.includes(true) ? true : searched.includes(false) ? false : null,
  };
}
