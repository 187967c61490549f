import { lookup as resolve } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import type { Logger } from '../../telemetry/index.ts';
import { createEgress } from '../egress/egress.ts';
import type { CaptureResult } from '../outcome.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** Where clouds hand out credentials, beside the link-local range in which most of them do. */
const METADATA = ['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254'];

/** A name or address that must not be connected to, whoever named it. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

/** The way out for one capture. `country` is set where the traffic leaves in that country. */
export type WayOut = { dispatcher: Dispatcher; country: string | null };

export type WaysOut = {
  /** Through the country's proxy where the lane has one, else directly. */
  to(country: string | undefined): Promise<WayOut>;
  close(): Promise<void>;
};

/**
 * Connections of the drivers that need no browser. The operator names the endpoint, so it may stand in a private
 * network; only where clouds hand out credentials is nobody's search API. Deadlines are the callers': a silent
 * endpoint is waited for as long as its capture may take. `proxies` are by country, as for browsers.
 */
export function openWaysOut(endpoint: string, proxies: ReadonlyMap<string, string>, log: Logger): WaysOut {
  const patience = { headersTimeout: 0, bodyTimeout: 0 };
  const direct = new Agent({ ...patience, connect: { timeout: CONNECT_TIMEOUT_MS, lookup: refuseMetadata } });
  const egress = createEgress(endpoint, { proxies }, log);
  const away = new Map<string, ProxyAgent>();
  return {
    to: async (wanted) => {
      if (wanted === undefined || !proxies.has(wanted)) return { dispatcher: direct, country: null };
      const { proxyUrl } = await egress.routeFor(wanted);
      // Plain requests through a tunnel too: what the proxy says of itself would be taken for the endpoint's answer.
      const agent = away.get(wanted) ?? new ProxyAgent({ ...patience, uri: proxyUrl, proxyTunnel: true });
      away.set(wanted, agent);
      return { dispatcher: agent, country: wanted };
    },
    close: async () => {
      await Promise.all([direct, ...away.values()].map((dispatcher) => dispatcher.destroy()));
      await egress.close();
    },
  };
}

/** The country counts as applied only where the traffic left through its proxy. */
export function addCountry(result: CaptureResult, country: string | null): CaptureResult {
  if (country === null || !('effectiveRegion' in result)) return result;
  return { ...result, effectiveRegion: { ...result.effectiveRegion, country } };
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
