import { LINE_BEGINS, type DueDelivery, type LineRead, type Place } from './due.ts';

/** The line of an account whose lease this process holds. */
export type Line = {
  accountId: string;
  /** By this process's clock; no attempt begins after it, or shortly before. */
  leaseEndsMs: number;
  /** Ids of what was read and has no end written yet: nothing is read twice meanwhile. */
  held: Set<string>;
  waiting: DueDelivery[];
  running: number;
  /** Since the last read was begun: while it is on its way, what begins counts for the next one. */
  begun: number;
  /** Stands in the queue of those that may start. */
  ready: boolean;
  /** The last one read: what was sent and deleted before it is not looked at again. */
  after: Place;
  /** From then on the next read begins at the start. */
  rewindAtMs: number;
  /** The last read found less than it asked for, so that there is no more until later. */
  exhausted: boolean;
  /** When an exhausted line is looked at again. */
  lookAtMs: number;
  /** Signs what has no secret of its own; null when there is none. */
  managedSecret: string | null;
};

export function createLine(accountId: string): Line {
  return {
    accountId,
    leaseEndsMs: 0,
    held: new Set(),
    waiting: [],
    running: 0,
    begun: 0,
    ready: false,
    after: LINE_BEGINS,
    rewindAtMs: 0,
    exhausted: false,
    lookAtMs: 0,
    managedSecret: null,
  };
}

/**
 * How long a line is read on from where the last read ended. A delivery is due from when the transaction that made it
 * began, and may be seen only after later ones were read: the line is looked through from its start now and then.
 */
const REWIND_MS = 1_000;

/** Of each line, however many there are: one that has no more is known by it. */
const READ_AT_LEAST = 2;

/** May wait of a line of which nothing was begun since its last read. */
const WAIT_AT_LEAST = 8;

export type PlannedRead = LineRead & { line: Line };

export type ReadingOptions = {
  nowMs: number;
  /** Deliveries that may still be held. */
  room: number;
  /** Of one read. */
  most: number;
};

/**
 * What to read of which lines. Of each may wait three times what was begun since its last read: what a quick receiver
 * takes until the next read has come is here, and a slow one fills no room. The fuller the process is the less one account
 * may have that has not ended, and never is all room taken at once: many slow receivers together leave room for the next
 * tenant. Those that have the fewest come first, and where many wait no more of each is read than will be taken.
 */
export function planReads(lines: readonly Line[], { nowMs, room, most }: ReadingOptions): PlannedRead[] {
  const share = Math.max(1, Math.floor(room / 3));
  const countWanted = (line: Line): number =>
    Math.min(share - countUnended(line), WAIT_AT_LEAST + 3 * line.begun - line.waiting.length);
  const open = lines
    .filter((line) => line.leaseEndsMs > nowMs && (!line.exhausted || nowMs >= line.lookAtMs) && countWanted(line) > 0)
    .sort((a, b) => countUnended(a) - countUnended(b));
  const reads: PlannedRead[] = [];
  let left = Math.min(most, Math.ceil(room / 2));
  for (const line of open) {
    if (left <= 0) break;
    const fair = Math.max(READ_AT_LEAST, Math.ceil(left / (open.length - reads.length)));
    const wanted = Math.min(countWanted(line), fair, left);
    const rewinds = line.exhausted || nowMs >= line.rewindAtMs;
    reads.push({ line, accountId: line.accountId, after: rewinds ? LINE_BEGINS : line.after, most: wanted });
    left -= wanted;
  }
  return reads;
}

/** What has ended and is not written yet says nothing of how quick a receiver is. */
function countUnended({ running, waiting }: Line): number {
  return running + waiting.length;
}

/** Takes in what was read of a line, and returns what of it is new. Should there be no more, none is read until `lookAtMs`. */
export function takeIn(
  { line, ...read }: PlannedRead,
  found: readonly DueDelivery[],
  { nowMs, lookAtMs }: { nowMs: number; lookAtMs: number },
): DueDelivery[] {
  if (read.after === LINE_BEGINS) line.rewindAtMs = nowMs + REWIND_MS;
  const last = found.at(-1);
  line.after = last === undefined ? read.after : { dueAt: last.dueAt, id: last.id };
  line.exhausted = found.length < read.most;
  line.lookAtMs = lookAtMs;
  const fresh = found.filter(({ id }) => !line.held.has(id));
  for (const { id } of fresh) line.held.add(id);
  line.waiting.push(...fresh);
  return fresh;
}

/** There is more of it that could begin, if it were here. */
export function isDry(line: Line): boolean {
  return line.waiting.length === 0 && !line.exhausted;
}

/** Nothing is left to do: another may take the line. */
export function isFinished(line: Line): boolean {
  return line.exhausted && line.held.size === 0;
}
