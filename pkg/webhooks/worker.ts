import type { Logger } from 'pino';
import type { Keyring } from '../config/index.ts';
import type { Sql } from '../postgres/index.ts';
import { pause, type Clock } from '../runtime/index.ts';
import { attemptDelivery, type AttemptResult } from './attempt.ts';
import { createBreaker } from './breaker.ts';
import { claimDue, recordEnd, returnClaim, type AttemptEnd, type ClaimedDelivery } from './claims.ts';
import type { Guard } from './guard.ts';
import type { PostLimits } from './post.ts';
import { nextPauseMs, spread } from './schedule.ts';

type HttpSettings = PostLimits & { totalTimeoutMs: number };

/** Design "Webhooks": 15 s and 16 KiB of response at most. */
const WEBHOOK_HTTP: HttpSettings = {
  totalTimeoutMs: 15_000,
  connectTimeoutMs: 5_000,
  maxResponseBytes: 16 * 1024,
};

export type DeliveryWorkerOptions = {
  sql: Sql;
  keyring: Keyring;
  guard: Guard;
  clock: Clock;
  /** From 0 to 1, for jitter. */
  random: () => number;
  log: Logger;
  http?: HttpSettings;
  /** Attempts at once in this process. */
  concurrency?: number;
  /** Attempts at once of one account. */
  perAccount?: number;
  /** Told after each attempt, for metrics. */
  onAttempt?: (report: AttemptReport) => void;
};

type AttemptReport = {
  outcome: 'delivered' | 'gone' | 'dead' | 'retry' | 'postponed' | 'stopped' | 'lost';
  durationMs: number;
};

export type DeliveryWorker = {
  /**
   * One turn: claims what is due and there is room for, starts the attempts and returns without waiting for their ends,
   * so that one slow receiver holds up nobody. `'more'` when the next turn should follow at once.
   */
  deliverDue(): Promise<'more' | 'idle'>;
  /** Aborts what runs, gives the claims back uncounted and ends. */
  close(): Promise<void>;
};

/** Claimed per turn: bodies may be large, and a turn should be short. */
const CLAIM_AT_MOST = 16;

/** How long a full worker waits for room before it lets its loop look around. */
const WAIT_FOR_ROOM_MS = 1_000;

/** Longer than any attempt with its statements, so that a lease only ends early when the process died or hung. */
const LEASE_MARGIN_MS = 45_000;

/** Delivers webhooks (spec 6, design "Webhooks"). At least once: a crash between answer and record repeats one. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { sql, clock, random, log, http = WEBHOOK_HTTP, concurrency = 128, perAccount = 8 } = options;
  const leaseMs = http.totalTimeoutMs + LEASE_MARGIN_MS;
  const breaker = createBreaker({
    clock,
    threshold: 10,
    openMs: 15_000,
    longestOpenMs: 600_000,
    probeMs: http.totalTimeoutMs + 5_000,
  });
  const stop = new AbortController();
  const running = new Set<Promise<void>>();

  async function handle(claim: ClaimedDelivery): Promise<AttemptReport['outcome']> {
    const circuit = `${claim.accountId} ${URL.parse(claim.url)?.origin ?? claim.url}`;
    const waitMs = breaker.admit(circuit);
    if (waitMs > 0) {
      await returnClaim(sql, claim, spread(waitMs, random));
      return 'postponed';
    }
    const result = await attemptDelivery({ ...options, ...http, limits: http }, claim, stop.signal);
    if (result.kind === 'stopped') {
      await returnClaim(sql, claim, 0);
      return 'stopped';
    }
    breaker.record(circuit, !showsTrouble(result));
    const end = judgeAttempt(result, claim.attempts, random);
    if (!(await recordEnd(sql, claim, end))) return 'lost';
    return end.state === 'pending' ? 'retry' : end.state;
  }

  async function run(claim: ClaimedDelivery): Promise<void> {
    const startedMs = clock.nowMs();
    try {
      const outcome = await handle(claim);
      options.onAttempt?.({ outcome, durationMs: clock.nowMs() - startedMs });
    } catch (error) {
      log.error({ err: error, delivery: claim.id }, 'An attempt broke off; its lease brings it back');
    }
  }

  return {
    deliverDue: async () => {
      if (stop.signal.aborted) return 'idle';
      const room = concurrency - running.size;
      if (room <= 0) {
        await Promise.race([...running, pause(WAIT_FOR_ROOM_MS, stop.signal)]);
        return 'more';
      }
      const claims = await claimDue(sql, { limit: Math.min(room, CLAIM_AT_MOST), perAccount, leaseMs });
      for (const claim of claims) {
        const attempt = run(claim);
        running.add(attempt);
        void attempt.finally(() => running.delete(attempt));
      }
      return claims.length > 0 ? 'more' : 'idle';
    },
    close: async () => {
      stop.abort();
      await Promise.all(running);
    },
  };
}

type EndedAttempt = Exclude<AttemptResult, { kind: 'stopped' }>;

/** A receiver that answers 4xx works, whatever it thinks of this delivery; silence, 5xx and 429 show trouble. */
function showsTrouble(result: EndedAttempt): boolean {
  return result.kind === 'unanswered' ? result.reached : result.status >= 500 || result.status === 429;
}

/** Only 2xx acknowledges and only 410 ends a delivery early; a redirect is a failure like any other answer. */
function judgeAttempt(result: EndedAttempt, attempts: number, random: () => number): AttemptEnd {
  if (result.kind === 'answered' && result.status >= 200 && result.status < 300) {
    return { state: 'delivered', status: result.status };
  }
  if (result.kind === 'answered' && result.status === 410) return { state: 'gone', status: 410 };
  const status = result.kind === 'answered' ? result.status : null;
  const error = result.kind === 'answered' ? `the receiver answered ${result.status}` : result.error;
  const retryAfterMs = result.kind === 'answered' ? result.retryAfterMs : undefined;
  const pauseMs = nextPauseMs({ attempts, random, retryAfterMs });
  return pauseMs === null ? { state: 'dead', status, error } : { state: 'pending', status, error, pauseMs };
}
