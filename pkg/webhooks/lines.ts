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

export type ReadingOptions = {
  nowMs: number;
  /** Deliveries that may still be held. */
  room: number;
  /** Deliveries that may be held of one line. */
  perLine: number;
  /** Of one read. */
  most: number;
};

/**
 * What to read of which lines. The fuller the process is the less one account may take, and never is all room taken at
 * once: many slow receivers together leave room for the next tenant. Those that hold the fewest come first, and where
 * many wait no more of each is read than will be taken.
 */
export function planReads(lines: readonly Line[], { nowMs, room, perLine, most }: ReadingOptions): LineRead[] {
  const share = Math.max(1, Math.min(perLine, Math.floor(room / 4)));
  const open = lines
    .filter((line) => line.leaseEndsMs > nowMs && line.held.size < share && (!line.exhausted || nowMs >= line.lookAtMs))
    .sort((a, b) => a.held.size - b.held.size);
  const reads: LineRead[] = [];
  let left = Math.min(most, Math.ceil(room / 2));
  for (const line of open) {
    if (left <= 0) break;
    const fair = Math.max(READ_AT_LEAST, Math.ceil(left / (open.length - reads.length)));
    const wanted = Math.min(share - line.held.size, fair, left);
    const rewinds = line.exhausted || nowMs >= line.rewindAtMs;
    reads.push({ accountId: line.accountId, after: rewinds ? LINE_BEGINS : line.after, most: wanted });
    left -= wanted;
  }
  return reads;
}

/** Takes in what was read of a line, and returns what of it is new. Should there be no more, none is read until `lookAtMs`. */
export function takeIn(
  line: Line,
  read: LineRead,
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

/** Nothing is left to do: another may take the line. */
export function isFinished(line: Line): boolean {
  return line.exhausted && line.held.size === 0;
}
