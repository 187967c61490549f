import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Server as ProxyServer } from 'proxy-chain';
import { openEgressGuard, type EgressGuard, type EgressGuardOptions, type Refusal } from './guard.ts';
import { parseHostRule } from './rules.ts';
import { parseProxyUrl } from './proxy-secret.ts';
import { createSocksServer } from './socks-for-tests.ts';

let site: Server;
let port: number;
const asked: string[] = [];
const guards: EgressGuard[] = [];
const proxies: ProxyServer[] = [];
const refusals: Refusal[] = [];

beforeAll(async () => {
  site = createServer(({ headers, url }, response) => {
    asked.push(`${headers.host ?? ''}${url ?? ''}`);
    response.end('here');
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  ({ port } = site.address() as AddressInfo);
});
afterAll(async () => {
  await Promise.all(guards.map((guard) => guard.close()));
  await Promise.all(proxies.map((proxy) => proxy.close(true)));
  site.closeAllConnections();
  await new Promise((resolve) => site.close(resolve));
});

async function open(rules: string[], options: Partial<EgressGuardOptions> = {}): Promise<URL> {
  const guard = await openEgressGuard({
    rules: rules.map(parseHostRule),
    upstream: null,
    resolve: () => Promise.reject(new Error('nobody may be asked')),
    onRefused: (refusal) => refusals.push(refusal),
    ...options,
  });
  guards.push(guard);
  return new URL(guard.proxyUrl);
}

/** Status and body of a plain request through the proxy. */
function get(proxy: URL, url: string): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: proxy.hostname, port: proxy.port, path: url, headers: { host: new URL(url).host } });
    sent.once('error', reject);
    sent.once('response', (response: IncomingMessage) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.once('end', () => resolve([response.statusCode ?? 0, body]));
    });
    sent.end();
  });
}

/** First line of what a tunnel is answered with. */
function tunnel(proxy: URL, target: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(proxy.port), proxy.hostname, () =>
      socket.write(`CONNECT ${target} HTTP/1.1\r\n\r\n`),
    );
    socket.once('error', reject);
    socket.once('data', (bytes) => {
      socket.destroy();
      resolve(bytes.toString().split('\r\n', 1)[0] ?? '');
    });
  });
}

describe('the egress guard', () => {
  it('lets plain requests and tunnels through to what the lane names', async () => {
    const proxy = await open([`127.0.0.1:${port}`]);
    expect(await get(proxy, `http://127.0.0.1:${port}/page`)).toEqual([200, 'here']);
    expect(await tunnel(proxy, `127.0.0.1:${port}`)).toContain('200');
  });

  it.each<[string, string[], string, string]>([
    ['a host that is not listed', ['engine.example'], 'other.example', 'does not list'],
    ['another port of a listed place', ['127.0.0.1:1'], '127.0.0.1', 'does not list'],
    ['loopback where every public host is listed', ['*'], '127.0.0.1', 'not public (loopback)'],
    ['loopback in another spelling', ['*'], '0x7f.1', 'not public (loopback)'],
    ['loopback as one number', ['*'], '2130706433', 'not public (loopback)'],
    ['loopback as mapped IPv6', ['*'], '[::ffff:127.0.0.1]', 'not public'],
    ['metadata of a cloud', ['*'], '169.254.169.254', 'link-local or metadata'],
    ['a private address', ['*'], '10.1.2.3', 'private'],
    ['a name that leads inside', ['engine.example'], 'engine.example', 'not public (private)'],
    ['a name of which one address leads inside', ['mixed.example'], 'mixed.example', 'not public (carrier NAT)'],
  ])('refuses %s, as a request and as a tunnel', async (_, rules, host, reason) => {
    const names: Record<string, string[]> = {
      'engine.example': ['10.0.0.5'],
      'mixed.example': ['93.184.216.34', '100.64.0.1'],
      '0x7f.1': ['127.0.0.1'],
      '2130706433': ['127.0.0.1'],
    };
    const proxy = await open(rules, { resolve: (name) => Promise.resolve(names[name] ?? []) });
    refusals.length = 0;
    asked.length = 0;
    const [status, body] = await get(proxy, `http://${host}:${port}/`);
    expect(status).toBe(502);
    expect(body).toContain(reason);
    expect(await tunnel(proxy, `${host}:${port}`)).toContain('502');
    expect(refusals).toHaveLength(2);
    expect(refusals.every((refusal) => refusal.port === port && refusal.reason.includes(reason))).toBe(true);
    expect(asked).toEqual([]);
  });

  it('connects to the address that it vetted, whatever the name says a moment later', async () => {
    let answers = 0;
    const proxy = await open([`engine.example:${port}`], {
      resolve: () => Promise.resolve([['127.0.0.1'], ['127.0.0.2']][answers++] ?? []),
    });
    expect(await get(proxy, `http://engine.example:${port}/`)).toEqual([200, 'here']);
    expect(answers).toBe(1);
    expect(asked.at(-1)).toBe(`engine.example:${port}/`);
  });

  it('goes through an upstream HTTP proxy, which resolves the names', async () => {
    const seen: string[] = [];
    const upstream = new ProxyServer({
      port: 0,
      host: '127.0.0.1',
      prepareRequestFunction: ({ hostname, username, password }) => {
        seen.push(`${username}:${password}@${hostname}`);
        return { requestAuthentication: username !== 'me' || password !== 'p@ss' };
      },
    });
    proxies.push(upstream);
    await upstream.listen();
    const proxy = await open([`127.0.0.1:${port}`, 'engine.example'], {
      upstream: `http://me:p%40ss@127.0.0.1:${upstream.port}`,
    });
    expect(await get(proxy, `http://127.0.0.1:${port}/`)).toEqual([200, 'here']);
    expect(await tunnel(proxy, `127.0.0.1:${port}`)).toContain('200');
    expect(seen).toEqual(['me:p@ss@127.0.0.1', 'me:p@ss@127.0.0.1']);
    expect((await get(proxy, 'http://other.example/'))[0]).toBe(502);
    expect((await get(proxy, 'http://10.0.0.1/'))[0]).toBe(502);
    expect(seen).toHaveLength(2);
  });

  it('goes through an upstream SOCKS5 proxy', async () => {
    const { server, seen } = createSocksServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port: socksPort } = server.address() as AddressInfo;
      const proxy = await open([`engine.example:${port}`], { upstream: `socks5h://me:p%40ss@127.0.0.1:${socksPort}` });
      expect(await get(proxy, `http://engine.example:${port}/`)).toEqual([200, 'here']);
      expect(await tunnel(proxy, `engine.example:${port}`)).toContain('200');
      expect(seen).toEqual(['me:p@ss@engine.example', 'me:p@ss@engine.example']);
    } finally {
      server.close();
    }
  });
});

describe('the address of a proxy', () => {
  it('may be http, https or socks5, and is not shown when it is wrong', () => {
    expect(parseProxyUrl(' http://me:secret@proxy.example:3128\n')).toBe('http://me:secret@proxy.example:3128');
    expect(parseProxyUrl('socks5://proxy.example:1080')).toBe('socks5://proxy.example:1080');
    for (const text of ['', 'proxy.example:3128', 'ftp://me:secret@proxy.example']) {
      expect(() => parseProxyUrl(text)).toThrow(/^it must be a URL like http:\/\/user:password@/);
    }
  });
});
