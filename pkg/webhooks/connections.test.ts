import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createConnections, type Connections } from './connections.ts';
import { postOnce } from './post.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Counts its connections. It listens at every loopback address. */
async function startReceiver(): Promise<{ port: number; sockets: Set<Socket>; release: () => void }> {
  const sockets = new Set<Socket>();
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/slow') held.push(response);
    else response.end('thanks');
  });
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '0.0.0.0', resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  return { port: address.port, sockets, release: () => held.forEach((response) => response.end()) };
}

function open(): Connections {
  const connections = createConnections({ connectTimeoutMs: 2_000, maxResponseBytes: 1_024 });
  closers.push(() => connections.close());
  return connections;
}

async function post(
  connections: Connections,
  owner: string,
  port: number,
  addresses: string[],
  path = '/',
): Promise<unknown> {
  const url = new URL(`http://hook.test:${port}${path}`);
  // A connection is free again a moment after its answer has ended.
  await new Promise((resolve) => setImmediate(resolve));
  return connections.use(owner, { url, addresses }, (dispatcher) =>
    postOnce(dispatcher, { url, headers: {}, body: Buffer.from('{}'), timeoutMs: 30_000, maxResponseBytes: 1_024 }),
  );
}

describe('connections', () => {
  it('are used again for the same account, place and addresses, in whatever order they were found', async () => {
    const { port, sockets } = await startReceiver();
    const connections = open();
    for (const addresses of [['127.0.0.1'], ['127.0.0.1']]) await post(connections, 'acct_1', port, addresses);
    expect(sockets.size).toBe(1);
    for (const addresses of [
      ['127.0.0.2', '127.0.0.3'],
      ['127.0.0.3', '127.0.0.2'],
    ])
      await post(connections, 'acct_1', port, addresses);
    expect(sockets.size).toBe(2);
  });

  it('never lead to an address that is no longer vetted', async () => {
    const { port, sockets } = await startReceiver();
    const connections = open();
    await post(connections, 'acct_1', port, ['127.0.0.1']);
    await post(connections, 'acct_1', port, ['127.0.0.2']);
    expect([...sockets].map(({ localAddress }) => localAddress)).toEqual(['127.0.0.1', '127.0.0.2']);
  });

  it('are not shared by two accounts', async () => {
    const { port, sockets } = await startReceiver();
    const connections = open();
    await post(connections, 'acct_1', port, ['127.0.0.1']);
    await post(connections, 'acct_2', port, ['127.0.0.1']);
    expect(sockets.size).toBe(2);
  });

  it('of many places that are used no more are forgotten, and what is under way is not', async () => {
    const { port, release } = await startReceiver();
    const connections = open();
    const first = post(connections, 'acct_first', port, ['127.0.0.1'], '/slow');
    for (let index = 0; index < 500; index += 1) await post(connections, `acct_${index}`, port, ['127.0.0.1']);
    release();
    await expect(first).resolves.toMatchObject({ status: 200 });
  });

  it('are cut when they are closed', async () => {
    const { port, sockets } = await startReceiver();
    const connections = open();
    await post(connections, 'acct_1', port, ['127.0.0.1']);
    await connections.close();
    const [socket] = sockets;
    if (socket === undefined) throw new Error('there was no connection');
    if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
    expect(socket.destroyed).toBe(true);
  });
});
