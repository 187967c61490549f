import { createSocket, type Socket } from 'node:dgram';
import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { startDnsServer, type TestDnsServer } from './dns-for-tests.ts';
import { createGuard } from './guard.ts';
import { createConnections } from './connections.ts';
import { postOnce } from './post.ts';
import { createDnsResolver, createSystemResolver } from '../network/index.ts';
import { parseExtraDestinations } from './url.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startDns(answers: string[][]): Promise<TestDnsServer> {
  const dns = await startDnsServer(answers);
  closers.push(() => dns.close());
  return dns;
}

async function bind(socket: Socket): Promise<number> {
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  closers.push(() => new Promise<void>((resolve) => void socket.close(resolve)));
  return socket.address().port;
}

async function startReceiver(): Promise<{ port: number; hits: () => number }> {
  let hits = 0;
  const server = createServer((_request, response) => {
    hits += 1;
    response.end();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  return { port: address.port, hits: () => hits };
}

describe('a DNS resolver', () => {
  it('gives all addresses of a name', async () => {
    const { server } = await startDns([['8.8.8.8', '10.0.0.1']]);
    const resolve = createDnsResolver({ timeoutMs: 2_000, servers: [server] });
    expect((await resolve('hook.test')).sort()).toEqual(['10.0.0.1', '8.8.8.8']);
  });

  it('fails for a name without addresses', async () => {
    const { server } = await startDns([[]]);
    const resolve = createDnsResolver({ timeoutMs: 2_000, servers: [server] });
    await expect(resolve('hook.test')).rejects.toThrow('hook.test does not resolve');
  });

  it('does not wait for a silent server longer than its time', async () => {
    const port = await bind(createSocket('udp4'));
    const resolve = createDnsResolver({ timeoutMs: 300, servers: [`127.0.0.1:${port}`] });
    const startedMs = performance.now();
    await expect(resolve('hook.test')).rejects.toThrow();
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });
});

describe('the resolver of the system', () => {
  it('knows the names of the machine', async () => {
    const addresses = await createSystemResolver({ timeoutMs: 5_000 })('localhost');
    expect(addresses.some((address) => address === '127.0.0.1' || address === '::1')).toBe(true);
  });
});

describe('a name whose address changes', () => {
  it('is connected to at the address that was vetted, whatever it resolves to afterwards', async () => {
    const { port, hits } = await startReceiver();
    const { server, asked } = await startDns([['127.0.0.1'], ['127.0.0.2']]);
    const resolve = createDnsResolver({ timeoutMs: 2_000, servers: [server] });
    const extras = parseExtraDestinations(`hook.test:${port}`);
    const guard = createGuard({ extras, resolvePublic: resolve, resolveExtra: resolve });

    const verdict = await guard.resolveDestination(`http://hook.test:${port}/`);
    if (verdict.kind !== 'allowed') throw new Error(`the destination is ${verdict.kind}`);
    const connections = createConnections({ connectTimeoutMs: 2_000, maxResponseBytes: 1_024 });
    closers.push(() => connections.close());
    const { status } = await connections.use('acct_1', verdict.destination, (dispatcher) =>
      postOnce(dispatcher, {
        url: verdict.destination.url,
        headers: {},
        body: Buffer.from('{}'),
        timeoutMs: 5_000,
        maxResponseBytes: 1_024,
      }),
    );
    expect(status).toBe(200);
    expect(hits()).toBe(1);
    expect(asked()).toBe(1);
    // The name really does lead elsewhere now.
    expect(await resolve('hook.test')).toEqual(['127.0.0.2']);
  });

  it.each([
    ['an A record that is private', ['8.8.8.8', '10.0.0.1']],
    ['an AAAA record that is loopback', ['8.8.8.8', '::1']],
    ['an AAAA record that carries a private IPv4 address', ['8.8.8.8', '64:ff9b::a00:1']],
    ['only an AAAA record that is unique local', ['fd00::1']],
  ])('is refused for %s among its addresses', async (_, addresses) => {
    const { server } = await startDns([addresses]);
    const resolve = createDnsResolver({ timeoutMs: 2_000, servers: [server] });
    const guard = createGuard({ extras: [], resolvePublic: resolve, resolveExtra: resolve });
    expect((await guard.resolveDestination('https://hook.test/')).kind).toBe('refused');
  });

  it('is refused at the attempt although it was fine when the search was accepted', async () => {
    const { server } = await startDns([['8.8.8.8'], ['127.0.0.1']]);
    const resolve = createDnsResolver({ timeoutMs: 2_000, servers: [server] });
    const guard = createGuard({ extras: [], resolvePublic: resolve, resolveExtra: resolve });
    expect((await guard.resolveDestination('https://hook.test/')).kind).toBe('allowed');
    expect((await guard.resolveDestination('https://hook.test/')).kind).toBe('refused');
  });
});
