import { lookup as systemLookup } from 'node:dns';
import { Agent } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { RequestError, Server, type PrepareRequestFunctionResult } from 'proxy-chain';
import { classifyAddress, type Resolve } from '../../network/index.ts';
import { bareHost, judgeHost, type HostRule } from './rules.ts';

/** A request that did not leave, and why. */
export type Refusal = { host: string; port: number; reason: string };

export type EgressGuard = {
  /** Where a browser must send all of its requests, as `http://127.0.0.1:port`. */
  proxyUrl: string;
  /** Ends every connection through it. */
  close(): Promise<void>;
};

export type EgressGuardOptions = {
  rules: readonly HostRule[];
  /** The next proxy on the way, with its credentials; null to connect from here. */
  upstream: string | null;
  resolve: Resolve;
  onRefused: (refusal: Refusal) => void;
};

const STATUS_FOR_REFUSED = 502;

/**
 * A proxy on loopback that lets through what the rules name and nothing else. Addresses are vetted where they are
 * resolved, and the connection goes to one of those: a name that answers otherwise a moment later changes nothing.
 * Behind an upstream proxy names are resolved there, so only the names are judged here.
 */
export async function openEgressGuard(options: EgressGuardOptions): Promise<EgressGuard> {
  // Its own connections: one that another lane may open must not be reused by this one.
  const httpAgent = new Agent({ keepAlive: true });
  const server = new Server({
    host: '127.0.0.1',
    port: 0,
    prepareRequestFunction: async ({ hostname, port, isHttp }) => {
      const way = await findWay(options, bareHost(hostname), port);
      if ('lookup' in way) return { dnsLookup: way.lookup, httpAgent };
      if ('upstream' in way) return { upstreamProxyUrl: way.upstream };
      options.onRefused({ host: bareHost(hostname), port, reason: way.refused });
      return refuse(way.refused, `${hostname}:${port}`, isHttp);
    },
  });
  await server.listen();
  return {
    proxyUrl: `http://127.0.0.1:${server.port}`,
    close: async () => {
      await server.close(true);
      httpAgent.destroy();
    },
  };
}

type Way = { lookup: typeof systemLookup } | { upstream: string } | { refused: string };

async function findWay({ rules, upstream, resolve }: EgressGuardOptions, host: string, port: number): Promise<Way> {
  const verdict = judgeHost(rules, host, port);
  if (verdict === 'refused') return { refused: 'the lane does not list this host' };
  if (upstream !== null) {
    return isIP(host) !== 0 && verdict === 'public' ? (refuseAddresses([host]) ?? { upstream }) : { upstream };
  }
  let addresses = [host];
  if (isIP(host) === 0) {
    try {
      addresses = await resolve(host);
    } catch (error) {
      return { refused: error instanceof Error ? error.message : String(error) };
    }
  }
  if (addresses.length === 0) return { refused: `${host} does not resolve` };
  const refused = verdict === 'public' ? refuseAddresses(addresses) : null;
  return refused ?? { lookup: pin(addresses) };
}

/** One bad address is enough: with a mixed answer it would be up to chance which is used. */
function refuseAddresses(addresses: readonly string[]): { refused: string } | null {
  const bad = addresses.map(classifyAddress).find(({ global }) => !global);
  return bad === undefined ? null : { refused: `it leads to an address that is not public (${bad.range})` };
}

/** A look-up that knows nothing but the addresses that were vetted. */
function pin(addresses: readonly string[]): typeof systemLookup {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_hostname, { all }, callback) => {
    const [first] = found;
    if (first === undefined) callback(new Error('the name has no address'), '');
    else if (all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
  // Sockets call it in this one way; the proxy's types ask for all the ways that the system's own can be called in.
  return Object.assign(lookup, systemLookup);
}

/** A page of our own for plain requests, so that an operator sees the reason; a tunnel can only be closed. */
function refuse(reason: string, place: string, isHttp: boolean): PrepareRequestFunctionResult {
  const message = `The lane's egress guard refused ${place}: ${reason}`;
  if (!isHttp) throw new RequestError(message, STATUS_FOR_REFUSED);
  return {
    customResponseFunction: () => ({
      statusCode: STATUS_FOR_REFUSED,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: `<!doctype html><title>${message.replace(/[<>&]/g, '')}</title>`,
      encoding: 'utf8',
    }),
  };
}
