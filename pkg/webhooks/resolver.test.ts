import { createSocket, type Socket } from 'node:dgram';
import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createGuard } from './guard.ts';
import { postOnce } from './post.ts';
import { createDnsResolver, createSystemResolver } from '../network/index.ts';
import { parseExtraDestinations } from './url.ts';

const TYPE_A = 1;
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** Answers each question for an A record with the next of `answers`; everything else has no record. */
async function startDnsServer(answers: string[][]): Promise<{ server: string; asked: () => number }> {
  const socket = createSocket('udp4');
  let asked = 0;
  socket.on('message', (question, from) => {
    const isA = question.readUInt16BE(question.length - bytesAfterQuestion(question) - 4) === TYPE_A;
    const addresses = isA ? (answers[Math.min(asked++, answers.length - 1)] ?? []) : [];
    socket.send(answerTo(question, addresses), from.port, from.address);
  });
  const port = await bind(socket);
  return { server: `127.0.0.1:${port}`, asked: () => asked };
}

/** How many bytes follow the question: resolvers may add an EDNS record there. */
function bytesAfterQuestion(message: Buffer): number {
  let at = 12;
  while (message.readUInt8(at) !== 0) at += message.readUInt8(at) + 1;
  return message.length - (at + 5);
}

function answerTo(question: Buffer, addresses: string[]): Buffer {
  const asked = question.subarray(12, question.length - bytesAfterQuestion(question));
  const header = Buffer.alloc(12);
  question.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([header, asked, ...records]);
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
    const { server } = await startDnsServer([['8.8.8.8', '10.0.0.1']]);
    const resolve = createDnsResolver({ timeoutMs: 2_000, servers: [server] });
    expect((await resolve('hook.test')).sort()).toEqual(['10.0.0.1', '8.8.8.8']);
  });

  it('fails for a name without addresses', async () => {
    const { server } = await startDnsServer([[]]);
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
    const { server, asked } = await startDnsServer([['127.0.0.1'], ['127.0.0.2']]);
    const resolve = createDnsResolver({ timeoutMs: 2_000, servers: [server] });
    const extras = parseExtraDestinations(`hook.test:${port}`);
    const guard = createGuard({ extras, resolvePublic: resolve, resolveExtra: resolve });

    const verdict = await guard.resolveDestination(`http://hook.test:${port}/`);
    if (verdict.kind !== 'allowed') throw new Error(`the destination is ${verdict.kind}`);
    const { status } = await postOnce({
      destination: verdict.destination,
      headers: {},
      body: Buffer.from('{}'),
      signal: AbortSignal.timeout(5_000),
      limits: { connectTimeoutMs: 2_000, maxResponseBytes: 1_024 },
    });
    expect(status).toBe(200);
    expect(hits()).toBe(1);
    expect(asked()).toBe(1);
    // The name really does lead elsewhere now.
    expect(await resolve('hook.test')).toEqual(['127.0.0.2']);
  });

  it('is refused at the attempt although it was fine when the search was accepted', async () => {
    const { server } = await startDnsServer([['8.8.8.8'], ['127.0.0.1']]);
    const resolve = createDnsResolver({ timeoutMs: 2_000, servers: [server] });
    const guard = createGuard({ extras: [], resolvePublic: resolve, resolveExtra: resolve });
    expect((await guard.resolveDestination('https://hook.test/')).kind).toBe('allowed');
    expect((await guard.resolveDestination('https://hook.test/')).kind).toBe('refused');
  });
});
