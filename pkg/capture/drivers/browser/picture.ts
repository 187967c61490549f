import { withDeadline } from '../../../runtime/index.ts';
import type { PageReading } from '../../page/messages.ts';
import { askDocument } from './ask.ts';
import { explain, leftMs, note, type Visit } from './visit.ts';

const PICTURE_TIMEOUT_MS = 3_000;
/** Shown to people: a larger picture is of no use to them. */
const MAX_BYTES = 8_000_000;

/**
 * A PNG of the whole page as it was read. Null when the answer did not stay as it was read until the picture was
 * taken, so that picture and text never tell two stories; also when the page does not let itself be painted in time.
 */
export async function takePicture(visit: Visit, read: PageReading): Promise<Uint8Array | null> {
  const home = visit.parts.find(({ part, frames }) => part.holdsAnswer && frames.length === 0) ?? visit.parts[0];
  try {
    const timeout = Math.max(500, Math.min(PICTURE_TIMEOUT_MS, leftMs(visit)));
    const painting = visit.page.screenshot({ type: 'png', fullPage: true, timeout });
    const png = new Uint8Array(await withDeadline(painting, timeout, 'the picture'));
    if (home === undefined || png.byteLength > MAX_BYTES) return null;
    if (!home.part.holdsAnswer || (await readAgain(visit, home)) === read.html) return png;
    note(visit, 'picture discarded');
  } catch (error) {
    visit.log.warn({ captureId: visit.task.captureId, reason: explain(error) }, 'No picture of the page');
  }
  return null;
}

async function readAgain(visit: Visit, home: Visit['parts'][number]): Promise<string | null> {
  const verdict = await withDeadline(
    askDocument(visit, home, visit.page.mainFrame(), 'read'),
    PICTURE_TIMEOUT_MS,
    'reading the page again',
  );
  return verdict?.kind === 'finished' ? verdict.reading.html : null;
}
