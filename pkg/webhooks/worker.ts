import type { Logger } from 'pino';
import type { Keyring } from '../config/index.ts';
import type { Sql } from '../postgres/index.ts';
import { pause, type Clock } from '../runtime/index.ts';
import { attemptDelivery } from './attempt.ts';
import { createBreaker } from './breaker.ts';
import { claimDue, recordEnds, type AttemptEnd, type ClaimedDelivery, type Settlement } from './claims.ts';
import { createConnections, type ConnectionLimits } from './connections.ts';
import type { Guard } from './guard.ts';
import { judgeAttempt, showsTrouble } from './judge.ts';
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
  keyring: Keyring;
  guard: Guard;
  clock: Clock;
  /** From 0 to 1, for jitter. */
  random: () => number;
  log: Logger;
  http?: HttpSettings;
  /** Attempts at once in this process. */
  concurrency?: number;
  /** Attempts at once of one account in this process. */
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
   * One turn: writes what has ended, claims what is due and there is room for, and starts it. Never waits for an attempt
   * longer than for the next one to end, so that a slow receiver holds up nobody. `'idle'` when nothing is under way.
   */
  deliverDue(): Promise<'more' | 'idle'>;
  /** Aborts what runs, gives the claims back uncounted and ends. */
  close(): Promise<void>;
};

/** Claimed per turn: bodies may be large, and a turn should be short. */
const CLAIM_AT_MOST = 128;

/** Read of each account's queue per turn, however many accounts wait. */
const READ_AT_LEAST = 8;

/** How long a turn waits for an attempt to end before the next one looks for new deliveries. */
const WAIT_MS = 500;

/** Longer than any attempt with its statements, so that a lease only ends early when the process died or hung. */
const LEASE_MARGIN_MS = 30_000;

/** Delivers webhooks (spec 6, design "Webhooks"). At least once: a crash between answer and record repeats one. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { sql, keyring, clock, random, log, http = WEBHOOK_HTTP, concurrency = 512, perAccount = 64 } = options;
  const leaseMs = http.totalTimeoutMs + LEASE_MARGIN_MS;
  const breaker = createBreaker({
    clock,
    threshold: 10,
    openMs: 15_000,
    longestOpenMs: 600_000,
    probeMs: http.totalTimeoutMs + 5_000,
  });
  const connections = createConnections(http);
  const stop = new AbortController();
  const running = new Set<Promise<void>>();
  const runningOf = new Map<string, number>();
  /** Of how many accounts the last claim found something. */
  let accountsDue = 1;
  /** What has ended and is not written yet. */
  let ended: (Settlement & { startedMs: number })[] = [];
  let someEnded = new AbortController();

  async function attempt(claim: ClaimedDelivery, managedSecret: string | null): Promise<AttemptEnd> {
    const circuit = `${claim.accountId} ${URL.parse(claim.url)?.origin ?? claim.url}`;
    const waitMs = breaker.admit(circuit);
    if (waitMs > 0) return { state: 'returned', pauseMs: Math.round(spread(waitMs, random)) };
    const result = await attemptDelivery({ ...options, ...http, connections }, claim, managedSecret, stop.signal);
    if (result.kind === 'stopped') return { state: 'returned', pauseMs: 0 };
    breaker.record(circuit, !showsTrouble(result));
    return judgeAttempt(result, claim.attempts, random);
  }

  async function run(claim: ClaimedDelivery, managedSecret: string | null): Promise<void> {
    const startedMs = clock.nowMs();
    try {
      const end = await attempt(claim, managedSecret);
      ended.push({ claim, end, startedMs });
    } catch (error) {
      log.error({ err: error, delivery: claim.id }, 'An attempt broke off; its lease brings it back');
    }
    // Asked first: an abort makes an exception with its stack, even when nobody gets it.
    if (!someEnded.signal.aborted) someEnded.abort();
  }

  /** What can't be written now is written by the next turn; until then it takes up room. */
  async function settleEnded(): Promise<void> {
    const settling = ended;
    if (settling.length === 0) return;
    ended = [];
    const written = await recordEnds(sql, settling).catch((error: unknown) => {
      ended = [...settling, ...ended];
      throw error;
    });
    for (const { claim, end, startedMs } of settling) {
      const outcome = written.has(claim.id) ? OUTCOMES[end.state] : 'lost';
      options.onAttempt?.({ outcome, durationMs: clock.nowMs() - startedMs });
    }
  }

  /** `mayBeMore` tells that as many were due as were asked for. */
  async function claimForRoom(): Promise<{ claims: ClaimedDelivery[]; mayBeMore: boolean }> {
    const room = concurrency - running.size - ended.length;
    if (room <= 0) return { claims: [], mayBeMore: false };
    // The fuller it gets the less one account may take, and never is all room taken at once: many slow receivers
    // together leave room for the next tenant.
    const share = Math.max(1, Math.min(perAccount, Math.floor(room / 8)));
    const limit = Math.min(CLAIM_AT_MOST, Math.ceil(room / 2));
    const perTurn = Math.min(share, Math.max(READ_AT_LEAST, Math.ceil((2 * limit) / accountsDue)));
    const claims = await claimDue(sql, { limit, perAccount: share, perTurn, running: runningOf, leaseMs });
    accountsDue = Math.max(1, new Set(claims.map(({ accountId }) => accountId)).size);
    return { claims, mayBeMore: claims.length === limit };
  }

  async function start(claims: readonly ClaimedDelivery[]): Promise<void> {
    const accountIds = claims.filter((claim) => claim.secretCiphertext === null).map(({ accountId }) => accountId);
    const secrets = await resolveSigningSecrets(sql, { accountIds: [...new Set(accountIds)], keyring });
    for (const claim of claims) {
      const secret = secrets.get(claim.accountId);
      const one = run(claim, typeof secret === 'string' ? secret : null);
      running.add(one);
      runningOf.set(claim.accountId, (runningOf.get(claim.accountId) ?? 0) + 1);
      void one.finally(() => {
        running.delete(one);
        const others = (runningOf.get(claim.accountId) ?? 1) - 1;
        if (others > 0) runningOf.set(claim.accountId, others);
        else runningOf.delete(claim.accountId);
      });
    }
  }

  return {
    deliverDue: async () => {
      if (stop.signal.aborted) return 'idle';
      // Renewed before anything that ends from here on is missed.
      someEnded = new AbortController();
      // At once: waiting for the database twice in a row would leave receivers waiting too.
      const [settled, claimed] = await Promise.allSettled([settleEnded(), claimForRoom()]);
      if (claimed.status === 'fulfilled') await start(claimed.value.claims);
      for (const step of [settled, claimed]) if (step.status === 'rejected') throw step.reason;
      if (claimed.status === 'fulfilled' && claimed.value.mayBeMore) return 'more';
      if (running.size === 0 && ended.length === 0) return 'idle';
      await pause(WAIT_MS, AbortSignal.any([stop.signal, someEnded.signal]));
      return 'more';
    },
    close: async () => {
      stop.abort();
      await connections.close();
      await Promise.all(running);
      await settleEnded();
    },
  };
}

const OUTCOMES = {
  delivered: 'delivered',
  gone: 'gone',
  dead: 'dead',
  pending: 'retry',
  returned: 'postponed',
} as const satisfies Record<AttemptEnd['state'], AttemptReport['outcome']>;
