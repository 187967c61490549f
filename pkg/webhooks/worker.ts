import type { Logger } from 'pino';
import type { Keyring } from '../config/index.ts';
import type { Sql } from '../postgres/index.ts';
import { gather, pause, type Clock } from '../runtime/index.ts';
import { attemptDelivery } from './attempt.ts';
import { createBreaker } from './breaker.ts';
import { claimDue, recordEnds, type AttemptEnd, type ClaimedDelivery, type Settlement } from './claims.ts';
import { createConnections, type ConnectionLimits } from './connections.ts';
import type { Guard } from './guard.ts';
import { judgeAttempt, showsTrouble } from './judge.ts';
import { createLines } from './lines.ts';
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
  /** Claims held at once by this process, what is being sent among them. */
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
   * One turn: claims what is due and there is room for, and starts it. Never waits for an attempt longer than for the
   * next one to end, so that a slow receiver holds up nobody. `'idle'` when nothing is under way.
   */
  deliverDue(): Promise<'more' | 'idle'>;
  /** Aborts what runs, gives the claims back uncounted and ends. */
  close(): Promise<void>;
};

/** Claimed per turn: bodies may be large, and a turn should be short. */
const CLAIM_AT_MOST = 256;

/** Of one account, for each attempt that may run: while a claim is on its way the next deliveries are here already. */
const HELD_FOR_EACH = 4;

/** Read of each account's queue per turn, however many accounts wait. */
const READ_AT_LEAST = 8;

/** How long a turn waits for an attempt to end before the next one looks for new deliveries. */
const WAIT_MS = 500;

/** Between claims that found little: what ends meanwhile makes room for more at once, and is written together. */
const REST_MS = 5;

/** Of ends written at once. */
const WRITE_AT_MOST = 256;

/** Longer than any attempt with its statements, so that a lease only ends early when the process died or hung. */
const LEASE_MARGIN_MS = 30_000;

/** Delivers webhooks (spec 6, design "Webhooks"). At least once: a crash between answer and record repeats one. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { sql, keyring, clock, random, log, http = WEBHOOK_HTTP, concurrency = 1024, perAccount = 64 } = options;
  // What is held may have to wait for the attempts before it to end, each as late as can be.
  const leaseMs = HELD_FOR_EACH * http.totalTimeoutMs + LEASE_MARGIN_MS;
  const breaker = createBreaker({
    clock,
    threshold: 10,
    openMs: 15_000,
    longestOpenMs: 600_000,
    probeMs: http.totalTimeoutMs + 5_000,
  });
  const connections = createConnections(http);
  const stop = new AbortController();
  const held = new Set<Promise<void>>();
  const heldOf = new Map<string, number>();
  const lines = createLines(perAccount);
  /** Of how many accounts the last claim found something. */
  let accountsDue = 1;
  let someEnded = new AbortController();
  const settle = gather(recordTogether, { most: WRITE_AT_MOST, restMs: REST_MS });

  async function recordTogether(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    try {
      const written = await recordEnds(sql, settlements);
      return settlements.map(({ claim }) => written.has(claim.id));
    } catch (error) {
      log.error({ err: error, deliveries: settlements.length }, 'Could not write how deliveries ended');
      throw error;
    }
  }

  async function attempt(claim: ClaimedDelivery, managedSecret: string | null): Promise<AttemptEnd> {
    if (stop.signal.aborted) return { state: 'returned', pauseMs: 0 };
    const circuit = `${claim.accountId} ${URL.parse(claim.url)?.origin ?? claim.url}`;
    const waitMs = breaker.admit(circuit);
    if (waitMs > 0) return { state: 'returned', pauseMs: Math.round(spread(waitMs, random)) };
    const result = await attemptDelivery({ ...options, ...http, connections }, claim, managedSecret, stop.signal);
    if (result.kind === 'stopped') return { state: 'returned', pauseMs: 0 };
    breaker.record(circuit, !showsTrouble(result));
    return judgeAttempt(result, claim.attempts, random);
  }

  async function run(claim: ClaimedDelivery, managedSecret: string | null): Promise<void> {
    await lines.enter(claim.accountId);
    const startedMs = clock.nowMs();
    let end: AttemptEnd;
    try {
      end = await attempt(claim, managedSecret);
    } catch (error) {
      log.error({ err: error, delivery: claim.id }, 'An attempt broke off; its lease brings it back');
      return;
    } finally {
      lines.leave(claim.accountId);
    }
    const written = await write({ claim, end });
    options.onAttempt?.({ outcome: written ? OUTCOMES[end.state] : 'lost', durationMs: clock.nowMs() - startedMs });
  }

  /** What can't be written now is written later, and takes up room until then; after its lease it would change nothing. */
  async function write(settlement: Settlement): Promise<boolean> {
    const lastMs = clock.nowMs() + leaseMs;
    for (;;) {
      try {
        return await settle(settlement);
      } catch {
        if (stop.signal.aborted || clock.nowMs() > lastMs) return false;
        await pause(WAIT_MS, stop.signal);
      }
    }
  }

  /** `mayBeMore` tells that as many were due as were asked for. */
  async function claimForRoom(): Promise<{ claims: ClaimedDelivery[]; mayBeMore: boolean }> {
    const room = concurrency - held.size;
    if (room <= 0) return { claims: [], mayBeMore: false };
    // The fuller it gets the less one account may take, and never is all room taken at once: many slow receivers
    // together leave room for the next tenant.
    const share = Math.max(1, Math.min(HELD_FOR_EACH * perAccount, Math.floor(room / 4)));
    const limit = Math.min(CLAIM_AT_MOST, Math.ceil(room / 2));
    const perTurn = Math.min(share, Math.max(READ_AT_LEAST, Math.ceil((2 * limit) / accountsDue)));
    const claims = await claimDue(sql, { limit, perAccount: share, perTurn, held: heldOf, leaseMs });
    accountsDue = Math.max(1, new Set(claims.map(({ accountId }) => accountId)).size);
    return { claims, mayBeMore: claims.length === limit };
  }

  async function start(claims: readonly ClaimedDelivery[]): Promise<void> {
    const accountIds = claims.filter((claim) => claim.secretCiphertext === null).map(({ accountId }) => accountId);
    const secrets = await resolveSigningSecrets(sql, { accountIds: [...new Set(accountIds)], keyring });
    for (const claim of claims) {
      const { accountId } = claim;
      const secret = secrets.get(accountId);
      const one = run(claim, typeof secret === 'string' ? secret : null);
      held.add(one);
      heldOf.set(accountId, (heldOf.get(accountId) ?? 0) + 1);
      void one.finally(() => {
        held.delete(one);
        const others = (heldOf.get(accountId) ?? 1) - 1;
        if (others > 0) heldOf.set(accountId, others);
        else heldOf.delete(accountId);
        // Asked first: an abort makes an exception with its stack, even when nobody gets it.
        if (!someEnded.signal.aborted) someEnded.abort();
      });
    }
  }

  return {
    deliverDue: async () => {
      if (stop.signal.aborted) return 'idle';
      // Renewed before anything that ends from here on is missed.
      someEnded = new AbortController();
      // What was held then may be what kept the claim from finding more.
      const nothingHeld = held.size === 0;
      const { claims, mayBeMore } = await claimForRoom();
      await start(claims);
      if (claims.length === CLAIM_AT_MOST) return 'more';
      if (nothingHeld && claims.length === 0) return 'idle';
      if (!mayBeMore && held.size > 0) await pause(WAIT_MS, AbortSignal.any([stop.signal, someEnded.signal]));
      await pause(REST_MS, stop.signal);
      return 'more';
    },
    close: async () => {
      stop.abort();
      await connections.close();
      await Promise.all(held);
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
