import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createConnections, type ConnectionLimits, type Connections } from './connections.ts';
import { postOnce, type PostAnswer } from './post.ts';

const opened: NetServer[] = [];
const sockets = new Set<Socket>();

async function listenOn(server: NetServer, host = '127.0.0.1', port = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  opened.push(server);
  // A server does not close while a socket is open, and some receivers here never close theirs.
  server.on('connection', (socket: Socket) => sockets.add(socket));
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

function receive(listener: RequestListener): Server {
  return createServer(listener);
}

afterEach(async () => {
  await Promise.all(openedConnections.splice(0).map((connections) => connections.close()));
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(opened.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

const openedConnections: Connections[] = [];

type Case = {
  url: string;
  addresses?: string[];
  limits?: Partial<ConnectionLimits>;
  timeoutMs?: number;
  body?: string;
};

function post({
  url,
  addresses = ['127.0.0.1'],
  limits = {},
  timeoutMs = 10_000,
  body = '{}',
}: Case): Promise<PostAnswer> {
  const connections = createConnections({ connectTimeoutMs: 5_000, maxResponseBytes: 16 * 1024, ...limits });
  openedConnections.push(connections);
  const destination = { url: new URL(url), addresses };
  return connections.use('acct_1', destination, (dispatcher) =>
    postOnce(dispatcher, {
      url: destination.url,
      headers: { 'Content-Type': 'application/json', 'X-Test': 'yes' },
      body: Buffer.from(body),
      timeoutMs,
      maxResponseBytes: 16 * 1024,
    }),
  );
}

describe('postOnce', () => {
  it('sends headers and body to the vetted address under the name of the URL', async () => {
    const seen: unknown[] = [];
    const port = await listenOn(
      receive((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const { method, url, headers } = request;
          seen.push({
            method,
            url,
            host: headers.host,
            test: headers['x-test'],
            body: Buffer.concat(chunks).toString(),
          });
          response.writeHead(204).end();
        });
      }),
    );
    const answer = await post({ url: `http://no-such-host.invalid:${port}/hook?a=1`, body: '{"text":"🦊"}' });
    expect(answer).toEqual({ status: 204, retryAfter: undefined });
    expect(seen).toEqual([
      { method: 'POST', url: '/hook?a=1', host: `no-such-host.invalid:${port}`, test: 'yes', body: '{"text":"🦊"}' },
    ]);
  });

  it('goes on to the next vetted address when one does not answer', async () => {
    const port = await listenOn(receive((_request, response) => response.end()));
    const answer = await post({ url: `http://hook.test:${port}/`, addresses: ['127.0.0.9', '127.0.0.1'] });
    expect(answer.status).toBe(200);
  });

  it('checks the certificate against the name, not against the address', async () => {
    const names: unknown[] = [];
    const server = createTlsServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
      names.push('servername' in request.socket ? request.socket.servername : undefined);
      response.end();
    });
    const port = await listenOn(server);
    const limits = { ca: CERTIFICATE };
    await expect(post({ url: `https://hook.test:${port}/`, limits })).resolves.toMatchObject({ status: 200 });
    expect(names).toEqual(['hook.test']);
    await expect(post({ url: `https://other.test:${port}/`, limits })).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    await expect(post({ url: `https://hook.test:${port}/` })).rejects.toMatchObject({
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
  });

  it.each([301, 302, 303, 307, 308])('does not follow a %d', async (status) => {
    let hits = 0;
    const target = await listenOn(receive((_request, response) => response.end(String((hits += 1)))));
    const location = `http://127.0.0.1:${target}/`;
    const port = await listenOn(receive((_request, response) => response.writeHead(status, { location }).end()));
    expect((await post({ url: `http://hook.test:${port}/` })).status).toBe(status);
    expect(hits).toBe(0);
  });

  it('tells the hint of Retry-After', async () => {
    const port = await listenOn(receive((_request, response) => response.writeHead(503, { 'Retry-After': '7' }).end()));
    expect(await post({ url: `http://hook.test:${port}/` })).toEqual({ status: 503, retryAfter: '7' });
  });

  it('stops reading an endless answer after its limit', async () => {
    let sent = 0;
    const port = await listenOn(
      receive((_request, response) => {
        const chunk = Buffer.alloc(64 * 1024, 'x');
        const pour = (): void => {
          while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        };
        response.writeHead(200).on('drain', pour);
        pour();
      }),
    );
    expect((await post({ url: `http://hook.test:${port}/` })).status).toBe(200);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it('does not unpack a packed answer', async () => {
    const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024));
    const port = await listenOn(
      receive((_request, response) => response.writeHead(500, { 'Content-Encoding': 'gzip' }).end(bomb)),
    );
    expect((await post({ url: `http://hook.test:${port}/` })).status).toBe(500);
  });

  it('gives up on a receiver that accepts and stays silent', async () => {
    const port = await listenOn(createTcpServer());
    const startedMs = performance.now();
    await expect(post({ url: `http://hook.test:${port}/`, timeoutMs: 300 })).rejects.toThrow();
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it('gives up on headers that trickle', async () => {
    const port = await listenOn(
      createTcpServer((socket) => {
        const timer = setInterval(() => socket.write('X-More: yes\r\n'), 20);
        socket.on('error', () => socket.destroy()).on('close', () => clearInterval(timer));
        socket.write('HTTP/1.1 200 OK\r\n');
      }),
    );
    await expect(post({ url: `http://hook.test:${port}/`, timeoutMs: 300 })).rejects.toThrow();
  });

  it('refuses headers without end', async () => {
    const port = await listenOn(
      createTcpServer((socket) => {
        socket.on('error', () => socket.destroy());
        socket.write(`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(64 * 1024)}\r\n\r\n`);
      }),
    );
    await expect(post({ url: `http://hook.test:${port}/` })).rejects.toMatchObject({
      code: 'UND_ERR_HEADERS_OVERFLOW',
    });
  });

  it('takes the status of an answer whose body never ends', async () => {
    const port = await listenOn(receive((_request, response) => void response.writeHead(200).write('ok so far')));
    expect((await post({ url: `http://hook.test:${port}/`, timeoutMs: 300 })).status).toBe(200);
  });

  it.each([
    { what: 'refuses the connection', answer: null },
    { what: 'hangs up', answer: '' },
    { what: 'does not speak HTTP', answer: 'SSH-2.0-OpenSSH_9.6\r\n' },
  ])('throws when the receiver $what', async ({ answer }) => {
    const server = createTcpServer((socket) => void socket.on('error', () => socket.destroy()).end(answer ?? ''));
    const port = await listenOn(server);
    if (answer === null) await new Promise((resolve) => server.close(resolve));
    await expect(post({ url: `http://hook.test:${port}/` })).rejects.toThrow();
  });
});

// Self-signed, for hook.test, made for this test only.
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgeo0kaDQi5buXCOUd
yoqkLRa02r27C7n0m6jfcXdWkhOhRANCAARiNrCQ8dkzoug7g9q2i46o+QV/fNLs
SfQy0HgBRMrgiiSrpT6zeVRXr73ZunsvzOLFYd7ZGwxIFo9pP4jjWlzD
-----END PRIVATE KEY-----`;
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUKdk+OnXZUKi+nu8BoynS2KNHL78wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJaG9vay50ZXN0MCAXDTI2MTEyMTA1MDQzOVoYDzIxMjYxMDI4
MDUwNDM5WjAUMRIwEAYDVQQDDAlob29rLnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARiNrCQ8dkzoug7g9q2i46o+QV/fNLsSfQy0HgBRMrgiiSrpT6zeVRX
r73ZunsvzOLFYd7ZGwxIFo9pP4jjWlzDo2kwZzAdBgNVHQ4EFgQUgWJUHYdHXw/n
Z74zY/cObkphjDkwHwYDVR0jBBgwFoAUgWJUHYdHXw/nZ74zY/cObkphjDkwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglob29rLnRlc3QwCgYIKoZIzj0EAwID
SAAwRQIgD/4tfWc9nS4UBA/JUVa51DQd6O5OIZKNyY2Jw70QiwACIQC/4I0XP3oE
EQBw/bV5RG6t6i+vZkLNV3kLy+kybb15Fw==
-----END CERTIFICATE-----`;
