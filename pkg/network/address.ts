import ipaddr from 'ipaddr.js';

/** `range` is `global` or the reason why not, for a message. */
export type AddressClass = { global: boolean; range: string };

type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];
type Range = { name: string; cidr: Cidr };

/** Own list, not a library's: what counts as "unicast" has changed between releases of ipaddr.js before. */
const NON_GLOBAL_IPV4 = ranges({
  unspecified: ['0.0.0.0/8'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  'carrier NAT': ['100.64.0.0/10'],
  loopback: ['127.0.0.0/8'],
  'link-local or metadata': ['169.254.0.0/16'],
  // Azure answers its virtual machines' agents here, on an address that is otherwise public.
  metadata: ['168.63.129.16/32'],
  reserved: ['192.0.0.0/24', '192.88.99.0/24', '224.0.0.0/3'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  benchmarking: ['198.18.0.0/15'],
});

const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Holes in 2000::/3. 2001::/23 has Teredo in it; Teredo and 6to4 carry an IPv4 address that nobody would vet. */
const NON_GLOBAL_IPV6 = ranges({
  'Teredo or protocol assignment': ['2001::/23'],
  documentation: ['2001:db8::/32', '3fff::/20'],
  '6to4': ['2002::/16'],
});

/** A resolver in a network without IPv4 answers with this prefix for every IPv4-only name, so it must be read. */
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');

/**
 * Tells whether an address is globally reachable. Anything that is not plainly so is not: unknown text, unassigned
 * IPv6, and IPv6 that wraps a non-global IPv4.
 */
export function classifyAddress(address: string): AddressClass {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return classifyIpv4(ipaddr.IPv4.parse(address));
  if (ipaddr.IPv6.isValid(address)) return classifyIpv6(ipaddr.IPv6.parse(address));
  return { global: false, range: 'not an IP address' };
}

function classifyIpv4(address: ipaddr.IPv4): AddressClass {
  return findRange(address, NON_GLOBAL_IPV4) ?? { global: true, range: 'global' };
}

function classifyIpv6(address: ipaddr.IPv6): AddressClass {
  if (address.match(NAT64)) {
    const carried = classifyIpv4(new ipaddr.IPv4(address.toByteArray().slice(-4)));
    return carried.global ? carried : { global: false, range: `${carried.range} behind NAT64` };
  }
  if (address.zoneId !== undefined || !address.match(GLOBAL_IPV6)) return { global: false, range: 'not global IPv6' };
  return findRange(address, NON_GLOBAL_IPV6) ?? { global: true, range: 'global' };
}

function findRange(address: ipaddr.IPv4 | ipaddr.IPv6, list: readonly Range[]): AddressClass | undefined {
  const found = list.find(({ cidr }) => address.match(cidr));
  return found === undefined ? undefined : { global: false, range: found.name };
}

function ranges(byName: Record<string, string[]>): Range[] {
  return Object.entries(byName).flatMap(([name, cidrs]) =>
    cidrs.map((cidr) => ({ name, cidr: ipaddr.parseCIDR(cidr) })),
  );
}
