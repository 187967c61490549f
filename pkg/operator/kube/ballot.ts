import type { Connection } from './connection.ts';
import { isFailure } from './errors.ts';
import { core, type Lease } from './kinds.ts';
import type { Key } from './object.ts';
import { resourceClient } from './client.ts';
import type { CallOptions } from './resources.ts';
import { microTime } from './text.ts';
import type { Timers } from './time.ts';

export type BallotOptions = {
  connection: Connection;
  key: Key;
  identity: string;
  leaseMs: number;
  /** Of each call, so that one that hangs doesn't cost the lease. */
  timeoutMs: number;
  timers: Timers;
  wallMs: () => number;
};

/** Whose the lease is after an attempt to have it; `unknown` when someone, perhaps a late write of ours, was quicker. */
export type Vote = 'ours' | 'others' | 'unknown';

export type Ballot = {
  /** Takes the lease, or renews it, if nobody else holds it. Rejects when the API server gives no answer. */
  cast(signal: AbortSignal): Promise<Vote>;
  /** Makes it free for the next. */
  release(): Promise<void>;
};

/**
 * Attempts at one Lease. Every write goes over the version that was read, so of two at once one gets a conflict. When a
 * lease has run out is judged by our own clock from when we saw it change: clocks of machines differ.
 */
export function createBallot(options: BallotOptions): Ballot {
  const { key, identity, leaseMs, timers, wallMs } = options;
  const leases = resourceClient(options.connection, core.leases);
  const { timeoutMs } = options;
  let seen: { version: string; atMs: number } | undefined;

  async function look(limits: CallOptions): Promise<Lease | undefined> {
    const lease = await leases.find(key, limits);
    const version = lease === undefined ? '' : `${lease.metadata.uid} ${lease.metadata.resourceVersion}`;
    if (seen?.version !== version) seen = { version, atMs: timers.nowMs() };
    return lease;
  }

  function isFree({ spec }: Lease): boolean {
    const holder = spec?.holderIdentity;
    if (holder === undefined || holder === '' || holder === identity) return true;
    // The holder keeps to its own duration, which may differ from ours during an upgrade.
    const durationMs = Math.max(leaseMs, (spec?.leaseDurationSeconds ?? 0) * 1000);
    return seen !== undefined && timers.nowMs() - seen.atMs > durationMs;
  }

  function claim(spec: Lease['spec']): NonNullable<Lease['spec']> {
    const renewTime = microTime(wallMs());
    const isOurs = spec?.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1000),
      renewTime,
      acquireTime: (isOurs ? spec.acquireTime : undefined) ?? renewTime,
      leaseTransitions: (spec?.leaseTransitions ?? 0) + (isOurs ? 0 : 1),
    };
  }

  return {
    cast: async (signal) => {
      const limits = { timeoutMs, signal };
      const lease = await look(limits);
      if (lease !== undefined && !isFree(lease)) return 'others';
      try {
        const spec = claim(lease?.spec);
        if (lease === undefined) await leases.create({ metadata: key, spec }, limits);
        else await leases.replace({ ...lease, spec }, limits);
        return 'ours';
      } catch (error) {
        if (isFailure(error, 'conflict', 'alreadyExists')) return 'unknown';
        throw error;
      }
    },
    release: async () => {
      try {
        await free();
      } catch (error) {
        // A renewal that we gave up on arrived after all.
        if (!isFailure(error, 'conflict')) throw error;
        await free();
      }
    },
  };

  async function free(): Promise<void> {
    const lease = await leases.find(key, { timeoutMs });
    if (lease?.spec?.holderIdentity !== identity) return;
    const { holderIdentity: _, ...spec } = lease.spec;
    await leases.replace({ ...lease, spec: { ...spec, renewTime: microTime(wallMs()) } }, { timeoutMs });
  }
}
