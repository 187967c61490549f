import { isIPv6, type LookupFunction } from 'node:net';
import { Pool, type Dispatcher } from 'undici';
import type { Destination } from './guard.ts';

export type ConnectionLimits = {
  connectTimeoutMs: number;
  /** Of headers and of body, each. */
  maxResponseBytes: number;
  /** Certificate authorities in PEM to trust instead of the system's. */
  ca?: string;
};

/** Connections that only lead where the guard has just looked. */
export type Connections = {
  /** Runs `work` with connections to these vetted addresses and to nothing else. */
  use<T>(owner: string, destination: Destination, work: (dispatcher: Dispatcher) => Promise<T>): Promise<T>;
  /** Cuts what is open. */
  close(): Promise<void>;
};

type Kept = { pool: Pool; users: number };

/** Their sockets close by themselves after a moment; this only bounds the objects left behind. */
const MOST_IDLE = 200;

/** Shorter than receivers keep theirs, so that none closes while the next delivery is on its way. */
const KEEP_ALIVE_MS = 2_000;

/**
 * Keeps connections for the next delivery of the same account to the same place. A pool is named by the addresses as
 * they were vetted for THIS attempt, so a kept connection never leads to an address that was not vetted again, and none
 * is shared by two tenants.
 */
export function createConnections(limits: ConnectionLimits): Connections {
  const kept = new Map<string, Kept>();
  /** With more than so many, idle ones are looked for: seldom, as where many accounts are served each look finds few. */
  let lookAt = MOST_IDLE;

  function dropIdle(): void {
    const idle = [...kept].filter(([, { users }]) => users === 0);
    for (const [name, { pool }] of idle.slice(0, Math.max(0, idle.length - MOST_IDLE))) {
      kept.delete(name);
      // Nobody waits for it and nothing is under way: there is nothing to do about an error.
      pool.destroy().catch(() => undefined);
    }
    lookAt = kept.size + MOST_IDLE;
  }

  return {
    use: async (owner, destination, work) => {
      const { url, addresses } = destination;
      const { origin } = url;
      const name = `${owner} ${origin} ${addresses.length === 1 ? addresses[0] : addresses.toSorted().join(' ')}`;
      const entry = kept.get(name) ?? { pool: openPool(origin, addresses, limits), users: 0 };
      // Taken out and put in again, so that the map stays in order of last use.
      kept.delete(name);
      kept.set(name, entry);
      entry.users += 1;
      try {
        return await work(entry.pool);
      } finally {
        entry.users -= 1;
        if (kept.size > lookAt) dropIdle();
      }
    },
    close: async () => {
      const pools = [...kept.values()];
      kept.clear();
      await Promise.all(pools.map(({ pool }) => pool.destroy()));
    },
  };
}

function openPool(origin: string, addresses: readonly string[], limits: ConnectionLimits): Pool {
  return new Pool(origin, {
    maxHeaderSize: limits.maxResponseBytes,
    allowH2: false,
    // One deadline covers the whole exchange (post.ts).
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect: {
      lookup: answerWith(addresses),
      timeout: limits.connectTimeoutMs,
      autoSelectFamilyAttemptTimeout: 1_000,
      ...(limits.ca === undefined ? {} : { ca: limits.ca }),
    },
  });
}

function answerWith(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_hostname, options, callback) => {
    const [first] = found;
    if (first === undefined) callback(new Error('the destination has no address'), '');
    else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
}
