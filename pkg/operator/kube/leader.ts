import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { createBallot, type Vote } from './ballot.ts';
import type { Connection } from './connection.ts';
import { leaderMetrics } from './metrics.ts';
import { formatKey, type Key } from './object.ts';
import { childSignal, jitter, systemTimers, wait, type Random, type Timers } from './time.ts';

export type LeaderTiming = {
  /** Others take over when they saw no renewal for so long. */
  leaseMs: number;
  /** The leader steps down when its last renewal is older. The difference to `leaseMs` is the margin for writes under way. */
  renewMs: number;
  /** Between attempts. */
  retryMs: number;
};

export type LeaderOptions = {
  /** Not a guarded one: the lease itself is written with it. */
  connection: Connection;
  /** The Lease, one for all replicas. */
  lease: Key;
  /** Unlike any other's, also of an earlier process of the same pod. */
  identity: string;
  /** 15 s, 10 s and 2 s unless told. */
  timing?: Partial<LeaderTiming>;
  log: Logger;
  registry?: Registry;
  random?: Random;
  timers?: Timers;
  /** The time of day. A machine that slept moves it even where the timers' clock stood still. */
  wallMs?: () => number;
};

/** Why leading ended. */
export type Ending = 'stopped' | 'lost';

export type Leader = {
  /**
   * True while the lease is surely ours. Asked at the moment of a write it is right also after the process was frozen:
   * it compares clocks and waits for no timer. Meant for `connection.guardedBy`.
   */
  isLeading(): boolean;
  /**
   * Stands for election until elected, then runs `lead` once. Its signal aborts when the lease is lost or `signal`
   * aborts. Resolves when `lead` has ended: after `stopped` the lease is given back so that another takes over at once;
   * after `lost` the process should end, for its caches and its work are of a past term.
   */
  run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<Ending>;
};

const TIMING: LeaderTiming = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000 };

/** A candidate. It stands for election when it runs. */
export function createLeader(options: LeaderOptions): Leader {
  const { connection, lease, identity, log, random = Math.random, timers = systemTimers, wallMs = Date.now } = options;
  const timing = { ...TIMING, ...options.timing };
  const { leaseMs, renewMs, retryMs } = timing;
  const ballot = createBallot({ connection, key: lease, identity, leaseMs, timeoutMs: renewMs / 2, timers, wallMs });
  const tell = leaderMetrics(options.registry ?? new Registry(), lease.name);
  /** When the renewal that holds was sent, on both clocks: a machine that slept may have stopped one of them. */
  let renewed: Moment | undefined;
  const now = (): Moment => ({ steadyMs: timers.nowMs(), wallMs: wallMs() });

  function remainingMs(): number {
    if (renewed === undefined) return 0;
    const { steadyMs, wallMs: dayMs } = now();
    return renewMs - Math.max(steadyMs - renewed.steadyMs, dayMs - renewed.wallMs);
  }

  /** One attempt. It counts from when it was sent: that is before anyone else can have seen it. */
  async function vote(signal: AbortSignal): Promise<Vote> {
    const sent = now();
    try {
      const result = await ballot.cast(signal);
      if (result === 'ours') renewed = sent;
      return result;
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error, lease: formatKey(lease) }, 'Lease was not reached');
      return 'unknown';
    }
  }

  const rest = (signal: AbortSignal): Promise<void> => wait(jitter(retryMs, 0.2, random), signal, timers);

  async function becomeLeader(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      // An answer that came too late to count is no election.
      if ((await vote(signal)) === 'ours' && remainingMs() > 0) return true;
      await rest(signal);
    }
    return false;
  }

  /** Renews until `ended` aborts, and resolves to true; or to false as soon as the lease isn't surely ours. */
  async function holdOn(ended: AbortSignal): Promise<boolean> {
    const { signal, abort, release } = childSignal(ended);
    let cancel = (): void => undefined;
    const watchClock = (): void => {
      const leftMs = remainingMs();
      if (leftMs <= 0) abort(new Error('the lease was not renewed in time'));
      else cancel = timers.after(leftMs, watchClock);
    };
    watchClock();
    try {
      do await rest(signal);
      while (!signal.aborted && (await vote(signal)) !== 'others');
      return ended.aborted;
    } finally {
      cancel();
      release();
    }
  }

  async function run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<Ending> {
    if (!(await becomeLeader(signal))) {
      // The last attempt was cut off, and may have won.
      await giveBack();
      return 'stopped';
    }
    log.info({ lease: formatKey(lease), identity }, 'Leading');
    tell(true);
    const term = childSignal(signal);
    const over = new AbortController();
    // Renewed also while `lead` drains: another must not start before we are done.
    const held = holdOn(over.signal).then((isOurs) => {
      tell(isOurs);
      if (isOurs) return;
      renewed = undefined;
      log.error({ lease: formatKey(lease), identity }, 'Lost the lease');
      term.abort(new Error('the lease was lost'));
    });
    try {
      await lead(term.signal);
    } finally {
      over.abort();
      await held;
      term.release();
    }
    if (renewed === undefined) return 'lost';
    await giveBack();
    return 'stopped';
  }

  async function giveBack(): Promise<void> {
    renewed = undefined;
    tell(false);
    try {
      await ballot.release();
    } catch (error) {
      log.warn({ err: error, lease: formatKey(lease) }, 'Lease was not given back; it runs out by itself');
    }
  }

  return { isLeading: () => remainingMs() > 0, run };
}

type Moment = { readonly steadyMs: number; readonly wallMs: number };
