import type { Logger } from 'pino';
import type { Keyring } from '../config/index.ts';
import type { Sql } from '../postgres/index.ts';
import { gather, pause, type Clock } from '../runtime/index.ts';
import { attemptDelivery } from './attempt.ts';
import { createBreaker } from './breaker.ts';
import { createConnections, type ConnectionLimits } from './connections.ts';
import type { DueDelivery } from './due.ts';
import { recordEnds, type AttemptEnd, type Settlement } from './ends.ts';
import type { Guard } from './guard.ts';
import { createIntake } from './intake.ts';
import { judgeAttempt, showsTrouble } from './judge.ts';
import type { Line } from './lines.ts';
import { createPace } from './pace.ts';
import { spread } from './schedule.ts';

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

/** Attempts at once, leaving out those that take longer than a moment. */
const QUICK_AT_ONCE = 32;
const SLOW_AFTER_MS = 10;

/** Ends are written together: those of so long, and at most so many. */
const WRITE_EACH_MS = 20;
const WRITE_AT_MOST = 512;
const WRITE_AGAIN_MS = 500;
/** After that it is read again, and sent again. */
const WRITE_FOR_MS = 90_000;

/** A delivery whose attempt broke off by an error of ours is not tried again at once. */
const BROKEN_OFF_MS = 60_000;

const ORIGIN = /^[^/]*\/\/[^/?#]*/;

/** Delivers webhooks (spec 6, design "Webhooks"). At least once: a crash between answer and record repeats one. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { sql, clock, random, log, http = WEBHOOK_HTTP, concurrency = 2048, perAccount = 64 } = options;
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
  const intake = createIntake({ ...options, most: concurrency, onWaiting: startWaiting });
  const ready: Line[] = [];
  const pace = createPace({ most: QUICK_AT_ONCE, slowAfterMs: SLOW_AFTER_MS, onRoom: startReady });
  const allEnded = Promise.withResolvers<null>();
  let underWay = 0;
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
    pace.end(begunIn);
    intake.endAttempt(line);
    startWaiting([line]);
    const written = isNothing(end) || (await settle({ delivery, end }));
    intake.letGo(line, delivery);
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
      const next = line.running < perAccount ? intake.begin(line) : undefined;
      if (next === undefined) continue;
      void run(line, next);
      enqueue(line);
    }
    if (ready.length > 0) pace.waitForRoom();
  }

  function startWaiting(lines: Iterable<Line>): void {
    for (const line of lines) enqueue(line);
    startReady();
  }

  return {
    deliverDue: async () => {
      if (stop.signal.aborted) return 'idle';
      if (await intake.fill()) return 'more';
      if (intake.isEmpty()) return 'idle';
      await intake.rest();
      return 'more';
    },
    close: async () => {
      stop.abort();
      pace.close();
      intake.stop();
      await connections.close();
      if (underWay > 0) await allEnded.promise;
      await intake.release();
    },
  };
}

/** Nothing came of it, and nothing is to be written. */
function isNothing(end: AttemptEnd): boolean {
  return end.state === 'postponed' && end.pauseMs === 0;
}

const OUTCOMES = {
  delivered: 'delivered',
  gone: 'gone',
  dead: 'dead',
  pending: 'retry',
  postponed: 'postponed',
} as const satisfies Record<AttemptEnd['state'], AttemptReport['outcome']>;
