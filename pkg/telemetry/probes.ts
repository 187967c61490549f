import { createServer, type Server } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Registry } from './metrics.ts';

export type Probes = { port: number; close(): Promise<void> };

export type ProbeOptions = {
  host: string;
  port: number;
  registry: Registry;
  /** False takes the process out of its Service without killing it. */
  isReady: () => boolean;
};

/** `/livez`, `/readyz` and `/metrics` of a process that serves nothing else. */
export async function serveProbes(options: ProbeOptions): Promise<Probes> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: string, type = 'text/plain'): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    if (request.url === '/livez') answer(200, 'ok');
    else if (request.url === '/readyz') answer(options.isReady() ? 200 : 503, options.isReady() ? 'ok' : 'not ready');
    else if (request.url === '/metrics') {
      options.registry.metrics().then(
        (text) => answer(200, text, options.registry.contentType),
        (error: unknown) => answer(500, String(error)),
      );
    } else answer(404, 'not found');
  });
  await startListening(server, options.host, options.port);
  return { port: portOf(server), close: () => closeServer(server) };
}

/** Resolves when the server accepts connections; rejects when the port is taken. */
export function startListening(server: NetServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

export function portOf(server: NetServer): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
  return address.port;
}

const LINGER_MS = 500;

/**
 * Stops a server that clients talk to without a failed request: for a moment it still answers, and tells each client
 * that this connection ends with this answer, since a connection that is closed while its client writes the next
 * request looks like a failure. What is under way may then take `graceMs` to end.
 */
export async function drainServer(server: Server, graceMs: number): Promise<void> {
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'));
  await pause(LINGER_MS);
  await closeServer(server, graceMs);
}

/** Stops taking connections, lets requests under way end, then cuts what is left after `graceMs`. */
export function closeServer(server: Server, graceMs = 5_000): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
