import { promises as dns } from 'node:dns';
import { withDeadline } from '../runtime/index.ts';

/** All addresses of a name, both families. Throws when there are none; takes a bounded time. */
export type Resolve = (hostname: string) => Promise<string[]>;

export type DnsResolverOptions = {
  timeoutMs: number;
  /** `address:port`; by default those of the system. */
  servers?: string[];
};

/**
 * Asks name servers directly, and only the exact name: no hosts file, no search domains. Tenants choose these names,
 * and `getaddrinfo` would let a few names on a silent server block the few threads that file and crypto work needs too.
 */
export function createDnsResolver({ timeoutMs, servers }: DnsResolverOptions): Resolve {
  return async (hostname) => {
    const resolver = new dns.Resolver({ timeout: Math.ceil(timeoutMs / 2), tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    try {
      const lookups = Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
      return addressesOf(hostname, await withDeadline(lookups, timeoutMs, `resolving ${hostname}`));
    } finally {
      resolver.cancel();
    }
  };
}

/** One family often has no record: only a name without any address has failed. */
function addressesOf(hostname: string, results: PromiseSettledResult<string[]>[]): string[] {
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (addresses.length > 0) return addresses;
  const failed = results.find((result) => result.status === 'rejected');
  throw new Error(`${hostname} does not resolve`, { cause: failed?.reason });
}

/** Resolves as the machine does, hosts file and search domains included: for names that the operator listed. */
export function createSystemResolver({ timeoutMs }: { timeoutMs: number }): Resolve {
  return async (hostname) => {
    const found = await withDeadline(dns.lookup(hostname, { all: true }), timeoutMs, `resolving ${hostname}`);
    return found.map(({ address }) => address);
  };
}
