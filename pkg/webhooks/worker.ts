import type { Logger } from 'pino';
import type { Keyring } from '../config/index.ts';
import type { Sql } from '../postgres/index.ts';
import { gather, pause, type Clock } from '../runtime/index.ts';
import { attemptDelivery } from './attempt.ts';
import { createBreaker } from './breaker.ts';
import { createConnections, type ConnectionLimits } from './connections.ts';
import { LINE_BEGINS, readDue, type DueDelivery } from './due.ts';
import { recordEnds, type AttemptEnd, type Settlement } from './ends.ts';
import type { Guard } from './guard.ts';
import { judgeAttempt, showsTrouble } from './judge.ts';
import { keepLines, releaseLines, takeLines } from './leases.ts';
import { createLine, isFinished, planReads, takeIn, type Line } from './lines.ts';
import { createPace } from './pace.ts';
import { spread } from './schedule.ts';
import { resolveSigningSecrets } from './secrets.ts';

type HttpSettings = ConnectionLimits & { totalTimeoutMs: number };

/** Design "Webhooks": 15 s and 16 KiB of response at most. */
const WEBHOOK_HTTP: HttpSettings = {
  totalTimeoutMs: 15_000,
  connectTimeoutMs: 5_000,
  maxResponseBytes: 16 * 1024,
};

export type DeliveryWorkerOptions = {
  sql: Sql;
  /** Names this process among those that hold lines; no other has the same. */
  holder: string;
  keyring: Keyring;
  guard: Guard;
  clock: Clock;
  /** From 0 to 1, for jitter. */
  random: () => number;
  log: Logger;
  http?: HttpSettings;
  /** Deliveries held at once by this process, what is being sent among them. */
  concurrency?: number;
  /** Attempts at once of one account. */
  perAccount?: number;
  /** Told after each attempt, for metrics. */
  onAttempt?: (report: AttemptReport) => void;
};

type AttemptReport = {
  outcome: 'delivered' | 'gone' | 'dead' | 'retry' | 'postponed' | 'lost';
  durationMs: number;
};

export type DeliveryWorker = {
  /**
   * One turn: reads what is due and there is room for, and starts it. Never waits for an attempt longer than for some
   * to end, so that a slow receiver holds up nobody. `'idle'` when nothing is under way.
   */
  deliverDue(): Promise<'more' | 'idle'>;
  /** Aborts what runs, gives it back uncounted and ends. */
  close(): Promise<void>;
};

/** Read per turn: bodies may be large, and a turn should be short. */
const READ_AT_MOST = 256;

/** Characters of all bodies held at once, and of one until the first were read. */
const HELD_CHARS = 8_000_000;
const USUAL_CHARS = 8_000;

/** Of one account, for each attempt that may run: while a read is on its way the next deliveries are here already. */
const HELD_FOR_EACH = 8;

/** Attempts at once, leaving out those that take longer than a moment. */
const QUICK_AT_ONCE = 32;
const SLOW_AFTER_MS = 10;

/** So many ends make the next read worth its round trip. */
const ENDS_PER_READ = 128;

/** Between two looks for what has become due. */
const LOOK_MS = 250;

/** Ends are written together: those of so long, and at most so many. */
const WRITE_EACH_MS = 5;
const WRITE_AT_MOST = 256;
const WRITE_AGAIN_MS = 500;
/** After that it is read again, and sent again. */
const WRITE_FOR_MS = 90_000;

const LEASE_MS = 30_000;
const RENEW_EACH_MS = 5_000;

/** No attempt begins so shortly before its lease ends. A longer one outlasts it only where it can't be renewed. */
const LEASE_MARGIN_MS = 5_000;

/** A delivery whose attempt broke off by an error of ours is not tried again at once. */
const BROKEN_OFF_MS = 60_000;

const ORIGIN = /^[^/]*\/\/[^/?#]*/;

/** Delivers webhooks (spec 6, design "Webhooks"). At least once: a crash between answer and record repeats one. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { sql, keyring, clock, random, log, http = WEBHOOK_HTTP, concurrency = 2048, perAccount = 64 } = options;
  const lease = { holder: options.holder, leaseMs: LEASE_MS };
  const breaker = createBreaker({
    clock,
    threshold: 10,
    openMs: 15_000,
    longestOpenMs: 600_000,
    probeMs: http.totalTimeoutMs + 5_000,
  });
  const connections = createConnections(http);
  const attempting = { ...options, ...http, connections };
  const stop = new AbortController();
  const lines = new Map<string, Line>();
  const ready: Line[] = [];
  const pace = createPace({ most: QUICK_AT_ONCE, slowAfterMs: SLOW_AFTER_MS, onRoom: startReady });
  const allEnded = Promise.withResolvers<null>();
  let underWay = 0;
  let held = 0;
  let heldChars = 0;
  let usualChars = USUAL_CHARS;
  let renewAtMs = 0;
  let takeAtMs = 0;
  /** Some line has more than was read of it. */
  let moreIsDue = false;
  let endsUntilRead = 0;
  let worthReading = new AbortController();
  const settle = gather(recordTogether, { most: WRITE_AT_MOST, restMs: WRITE_EACH_MS });

  /** Whether each was written. What can't be written now is written later, and takes up room until then. */
  async function recordTogether(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    const lastMs = clock.nowMs() + WRITE_FOR_MS;
    for (;;) {
      try {
        const late = await recordEnds(sql, settlements);
        return settlements.map(({ delivery }) => !late.has(delivery.id));
      } catch (error) {
        log.error({ err: error, deliveries: settlements.length }, 'Could not write how deliveries ended');
        if (stop.signal.aborted || clock.nowMs() > lastMs) return settlements.map(() => false);
        await pause(WRITE_AGAIN_MS, stop.signal);
      }
    }
  }

  async function attempt(delivery: DueDelivery, managedSecret: string | null): Promise<AttemptEnd> {
    if (stop.signal.aborted) return { state: 'postponed', pauseMs: 0 };
    const [origin = delivery.url] = ORIGIN.exec(delivery.url) ?? [];
    const circuit = `${delivery.accountId} ${origin}`;
    const waitMs = breaker.admit(circuit);
    if (waitMs > 0) return { state: 'postponed', pauseMs: Math.round(spread(waitMs, random)) };
    const result = await attemptDelivery(attempting, delivery, managedSecret, stop.signal);
    if (result.kind === 'stopped') return { state: 'postponed', pauseMs: 0 };
    breaker.record(circuit, !showsTrouble(result));
    return judgeAttempt(result, delivery.attempts + 1, random);
  }

  async function run(line: Line, delivery: DueDelivery): Promise<void> {
    underWay += 1;
    const startedMs = clock.nowMs();
    const begunIn = pace.begin();
    let end: AttemptEnd;
    try {
      end = await attempt(delivery, line.managedSecret);
    } catch (error) {
      log.error({ err: error, delivery: delivery.id }, 'An attempt broke off');
      end = { state: 'postponed', pauseMs: BROKEN_OFF_MS };
    }
    line.running -= 1;
    pace.end(begunIn);
    enqueue(line);
    startReady();
    const written = isNothing(end) || (await settle({ delivery, end }));
    letGo(line, delivery);
    endsUntilRead -= 1;
    if (endsUntilRead === 0 && moreIsDue) worthReading.abort();
    options.onAttempt?.({ outcome: written ? OUTCOMES[end.state] : 'lost', durationMs: clock.nowMs() - startedMs });
    underWay -= 1;
    if (underWay === 0 && stop.signal.aborted) allEnded.resolve(null);
  }

  function enqueue(line: Line): void {
    if (line.ready || line.waiting.length === 0) return;
    line.ready = true;
    ready.push(line);
  }

  /** Starts what may start, of one line after the other. */
  function startReady(): void {
    while (pace.hasRoom()) {
      const line = ready.shift();
      if (line === undefined) return;
      line.ready = false;
      // It comes back when one of its attempts ends, or with its lease.
      if (line.running >= perAccount || clock.nowMs() + LEASE_MARGIN_MS > line.leaseEndsMs) continue;
      const next = line.waiting.shift();
      if (next === undefined) continue;
      line.running += 1;
      void run(line, next);
      enqueue(line);
    }
    if (ready.length > 0) pace.waitForRoom();
  }

  async function renewLeases(nowMs: number): Promise<void> {
    if (nowMs < renewAtMs || lines.size === 0) return;
    const kept = await keepLines(sql, lease, [...lines.keys()]);
    renewAtMs = nowMs + RENEW_EACH_MS;
    for (const [accountId, line] of lines) {
      if (kept.has(accountId)) {
        line.leaseEndsMs = nowMs + LEASE_MS;
        enqueue(line);
      } else {
        log.warn({ account: accountId }, 'Another process took the deliveries of this account over');
        lines.delete(accountId);
        dropWaiting(line);
      }
    }
    startReady();
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

  /** For so many more deliveries, of which each is as long as the last ones were. */
  function countRoom(): number {
    return Math.min(concurrency - held, Math.floor((HELD_CHARS - heldChars) / usualChars));
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

  /** True when there is more to read, and room for it. */
  async function readMore(nowMs: number): Promise<boolean> {
    const reads = planReads([...lines.values()], {
      nowMs,
      room: countRoom(),
      perLine: HELD_FOR_EACH * perAccount,
      most: READ_AT_MOST,
    });
    if (reads.length === 0) return false;
    const fromStart = reads.filter(({ after }) => after === LINE_BEGINS).map(({ accountId }) => accountId);
    const known = fromStart.flatMap((accountId) => [...(lines.get(accountId)?.held ?? [])]);
    const due = await readDue(sql, reads, known);
    const found = Map.groupBy(due, ({ accountId }) => accountId);
    // A line that is read from its start asks for its secret again, as it may have been replaced. Before anything is
    // taken in, so that an error here leaves no delivery behind.
    const asking = fromStart.filter((accountId) => found.has(accountId));
    const secrets = await resolveSigningSecrets(sql, { accountIds: asking, keyring });
    for (const accountId of asking) {
      const secret = secrets.get(accountId);
      const line = lines.get(accountId);
      if (line !== undefined) line.managedSecret = typeof secret === 'string' ? secret : null;
    }
    for (const read of reads) {
      const line = lines.get(read.accountId);
      if (line === undefined) continue;
      const fresh = takeIn(line, read, found.get(read.accountId) ?? [], { nowMs, lookAtMs: nowMs + LOOK_MS });
      held += fresh.length;
      heldChars += countChars(fresh);
      enqueue(line);
    }
    if (due.length > 0) usualChars = Math.max(1, countChars(due) / due.length);
    startReady();
    moreIsDue = [...lines.values()].some(({ exhausted }) => !exhausted);
    return moreIsDue && countRoom() >= ENDS_PER_READ;
  }

  async function releaseFinished(): Promise<void> {
    const finished = [...lines.values()].filter(isFinished).map(({ accountId }) => accountId);
    for (const accountId of finished) lines.delete(accountId);
    await releaseLines(sql, options.holder, finished);
  }

  return {
    deliverDue: async () => {
      if (stop.signal.aborted) return 'idle';
      const nowMs = clock.nowMs();
      await renewLeases(nowMs);
      await takeMoreLines(nowMs);
      // Renewed before anything that ends from here on is missed.
      worthReading = new AbortController();
      endsUntilRead = Math.max(1, Math.min(ENDS_PER_READ, Math.ceil(held / 2)));
      if (await readMore(nowMs)) return 'more';
      await releaseFinished();
      if (lines.size === 0 && held === 0) return 'idle';
      await pause(LOOK_MS, AbortSignal.any([stop.signal, worthReading.signal]));
      return 'more';
    },
    close: async () => {
      stop.abort();
      pace.close();
      for (const line of lines.values()) dropWaiting(line);
      await connections.close();
      if (underWay > 0) await allEnded.promise;
      await releaseLines(sql, options.holder, [...lines.keys()]);
      lines.clear();
    },
  };
}

/** Nothing came of it, and nothing is to be written. */
function isNothing(end: AttemptEnd): boolean {
  return end.state === 'postponed' && end.pauseMs === 0;
}

function countChars(deliveries: readonly DueDelivery[]): number {
  return deliveries.reduce((sum, { body }) => sum + body.length, 0);
}

const OUTCOMES = {
  delivered: 'delivered',
  gone: 'gone',
  dead: 'dead',
  pending: 'retry',
  postponed: 'postponed',
} as const satisfies Record<AttemptEnd['state'], AttemptReport['outcome']>;
