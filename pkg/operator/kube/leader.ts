import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Connection } from './connection.ts';
import type { Key } from './object.ts';
import type { Random, Timers } from './time.ts';

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

export declare function createLeader(options: LeaderOptions): Leader;
