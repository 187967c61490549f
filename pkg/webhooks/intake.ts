import type { Logger } from 'pino';
import type { Keyring } from '../config/index.ts';
import type { Sql } from '../postgres/index.ts';
import { pause, type Clock } from '../runtime/index.ts';
import { LINE_BEGINS, readDue, type DueDelivery } from './due.ts';
import { keepLines, releaseLines, takeLines } from './leases.ts';
import { createLine, isDry, isFinished, planReads, takeIn, type Line, type PlannedRead } from './lines.ts';
import { resolveSigningSecrets } from './secrets.ts';

export type IntakeOptions = {
  sql: Sql;
  /** Names this process among those that hold lines; no other has the same. */
  holder: string;
  keyring: Keyring;
  clock: Clock;
  log: Logger;
  /** Deliveries held at once. */
  most: number;
  /** Told of lines of which something may wait that may begin now. */
  onWaiting: (lines: Iterable<Line>) => void;
};

/** Holds the lines of this process, and of each what is due next. */
export type Intake = {
  /** Renews leases, takes more lines and reads what there is room for. True when there is more to read at once. */
  fill(): Promise<boolean>;
  /** Until reading again is worth its round trip, or it is time to look. */
  rest(): Promise<void>;
  /** Nothing is held: neither a line nor a delivery. */
  isEmpty(): boolean;
  /** The next delivery of this line, if it may begin; it is held until it is let go. */
  begin(line: Line): DueDelivery | undefined;
  /** The attempt has ended; its delivery is held until that is written. */
  endAttempt(line: Line): void;
  letGo(line: Line, delivery: DueDelivery): void;
  /** Lets go what waits and ends the rest: nothing begins any more. */
  stop(): void;
  /** Gives the lines up, once all else was let go. */
  release(): Promise<void>;
};

/** Read per turn: bodies may be large, and a turn should be short. */
const READ_AT_MOST = 512;

/** So many make a read worth its round trip at once. */
const READ_AT_ONCE = 128;

/** Between two reads while more is due. What is begun meanwhile must be here. */
const READ_EACH_MS = 8;

/** Characters of all bodies held at once, and of one until the first were read. */
const HELD_CHARS = 8_000_000;
const USUAL_CHARS = 8_000;

/** Between two looks for what has become due. */
const LOOK_MS = 250;

const LEASE_MS = 30_000;
const RENEW_EACH_MS = 5_000;

/** No attempt begins so shortly before its lease ends. A longer one outlasts it only where it can't be renewed. */
const LEASE_MARGIN_MS = 5_000;

export function createIntake({ sql, holder, keyring, clock, log, most, onWaiting }: IntakeOptions): Intake {
  const lease = { holder, leaseMs: LEASE_MS };
  const lines = new Map<string, Line>();
  const stopped = new AbortController();
  let held = 0;
  let heldChars = 0;
  let usualChars = USUAL_CHARS;
  let renewAtMs = 0;
  let takeAtMs = 0;
  /** Some line has more than was read of it. */
  let moreIsDue = false;
  let ranDry = new AbortController();

  async function renewLeases(nowMs: number): Promise<void> {
    if (nowMs < renewAtMs || lines.size === 0) return;
    const kept = await keepLines(sql, lease, [...lines.keys()]);
    renewAtMs = nowMs + RENEW_EACH_MS;
    for (const [accountId, line] of lines) {
      if (kept.has(accountId)) {
        line.leaseEndsMs = nowMs + LEASE_MS;
      } else {
        log.warn({ account: accountId }, 'Another process took the deliveries of this account over');
        lines.delete(accountId);
        dropWaiting(line);
      }
    }
    onWaiting(lines.values());
  }

  async function takeMoreLines(nowMs: number): Promise<void> {
    const room = countRoom();
    if (nowMs < takeAtMs || room <= 0) return;
    const taken = await takeLines(sql, lease, Math.min(READ_AT_MOST, Math.ceil(room / 2)));
    takeAtMs = nowMs + LOOK_MS;
    for (const accountId of taken) {
      // One whose lease ran out is the same line still: what is held of it must not be read again.
      const line = lines.get(accountId) ?? createLine(accountId);
      line.leaseEndsMs = nowMs + LEASE_MS;
      lines.set(accountId, line);
    }
  }

  function plan(nowMs: number): PlannedRead[] {
    return planReads([...lines.values()], { nowMs, room: countRoom(), most: READ_AT_MOST });
  }

  async function read(reads: readonly PlannedRead[], nowMs: number): Promise<void> {
    for (const { line } of reads) line.begun = 0;
    const fromStart = reads.filter(({ after }) => after === LINE_BEGINS).map(({ line }) => line);
    const known = fromStart.flatMap((line) => [...line.held]);
    const due = await readDue(sql, reads, known);
    const found = Map.groupBy(due, ({ accountId }) => accountId);
    // A line that is read from its start asks for its secret again, as it may have been replaced. Before anything is
    // taken in, so that an error here leaves no delivery behind.
    const asking = fromStart.filter(({ accountId }) => found.has(accountId));
    const accountIds = asking.map(({ accountId }) => accountId);
    const secrets = await resolveSigningSecrets(sql, { accountIds, keyring });
    for (const line of asking) {
      const secret = secrets.get(line.accountId);
      line.managedSecret = typeof secret === 'string' ? secret : null;
    }
    for (const one of reads) {
      const fresh = takeIn(one, found.get(one.accountId) ?? [], { nowMs, lookAtMs: nowMs + LOOK_MS });
      held += fresh.length;
      heldChars += countChars(fresh);
    }
    onWaiting(lines.values());
    if (due.length > 0) usualChars = Math.max(1, countChars(due) / due.length);
    moreIsDue = [...lines.values()].some(({ exhausted }) => !exhausted);
  }

  async function releaseFinished(): Promise<void> {
    const finished = [...lines.values()].filter(isFinished).map(({ accountId }) => accountId);
    for (const accountId of finished) lines.delete(accountId);
    await releaseLines(sql, holder, finished);
  }

  /** For so many more deliveries, of which each is as long as the last ones were. */
  function countRoom(): number {
    return Math.min(most - held, Math.floor((HELD_CHARS - heldChars) / usualChars));
  }

  function letGo(line: Line, { id, body }: DueDelivery): void {
    line.held.delete(id);
    held -= 1;
    heldChars -= body.length;
  }

  function dropWaiting(line: Line): void {
    for (const delivery of line.waiting) letGo(line, delivery);
    line.waiting = [];
  }

  return {
    fill: async () => {
      const nowMs = clock.nowMs();
      await renewLeases(nowMs);
      await takeMoreLines(nowMs);
      const reads = plan(nowMs);
      if (reads.length > 0) await read(reads, nowMs);
      const next = plan(nowMs);
      if (next.some(({ line }) => isDry(line)) || countPlanned(next) >= READ_AT_ONCE) return true;
      await releaseFinished();
      return false;
    },
    rest: () => {
      ranDry = new AbortController();
      return pause(moreIsDue ? READ_EACH_MS : LOOK_MS, AbortSignal.any([stopped.signal, ranDry.signal]));
    },
    isEmpty: () => lines.size === 0 && held === 0,
    begin: (line) => {
      if (stopped.signal.aborted || clock.nowMs() + LEASE_MARGIN_MS > line.leaseEndsMs) return undefined;
      const next = line.waiting.shift();
      if (next === undefined) return undefined;
      line.running += 1;
      line.begun += 1;
      if (isDry(line)) ranDry.abort();
      return next;
    },
    endAttempt: (line) => {
      line.running -= 1;
    },
    letGo,
    stop: () => {
      stopped.abort();
      for (const line of lines.values()) dropWaiting(line);
    },
    release: async () => {
      await releaseLines(sql, holder, [...lines.keys()]);
      lines.clear();
    },
  };
}

function countPlanned(reads: readonly PlannedRead[]): number {
  return reads.reduce((sum, { most }) => sum + most, 0);
}

function countChars(deliveries: readonly DueDelivery[]): number {
  return deliveries.reduce((sum, { body }) => sum + body.length, 0);
}
