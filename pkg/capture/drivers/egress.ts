import { lookup as resolve } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent } from 'undici';

const CONNECT_TIMEOUT_MS = 10_000;

/** Where clouds hand out credentials, beside the link-local range in which most of them do. */
const METADATA = ['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254'];

/** A name or address that must not be connected to, whoever named it. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

/**
 * Connections of the drivers that need no browser. The operator names the endpoint, so it may stand in a private
 * network; only where clouds hand out credentials is nobody's search API. Deadlines are the callers': a silent
 * endpoint is waited for as long as its capture may take.
 */
export function createEgress(): Agent {
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: refuseMetadata },
  });
}

/** Also for hosts that are addresses: those are connected to without a look-up. Throws `ForbiddenAddress`. */
export function requireAllowedHost(url: URL): void {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && isMetadata(host)) throw new ForbiddenAddress(`${host} is no address for a search`);
}

const refuseMetadata: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) {
      callback(error, []);
      return;
    }
    const [first] = found;
    if (first === undefined) callback(new Error(`${hostname} has no address`), []);
    else if (found.some(({ address }) => isMetadata(address))) {
      callback(new ForbiddenAddress(`${hostname} leads to an address that is none for a search`), []);
    } else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  });
};

function isMetadata(address: string): boolean {
  const parsed = ipaddr.process(address);
  return (
    parsed.range() === 'linkLocal' || METADATA.some((known) => ipaddr.process(known).toString() === parsed.toString())
  );
}
