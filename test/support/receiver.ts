import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, portOf, startListening } from '../../pkg/telemetry/index.ts';

export type Received = { headers: IncomingHttpHeaders; body: string };

export type Receiver = {
  origin: string;
  /** As `WEBHOOK_EXTRA_DESTINATIONS` names it. */
  hostAndPort: string;
  received: Received[];
  close(): Promise<void>;
};

/** A server that keeps what webhooks bring; `answer` is called when all of a request has arrived. */
export async function startReceiver(
  answer: (response: ServerResponse, request: IncomingMessage, body: string) => void,
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ headers: request.headers, body });
      answer(response, request, body);
    });
  });
  await startListening(server, '127.0.0.1', 0);
  const hostAndPort = `127.0.0.1:${portOf(server)}`;
  // Some receivers never answer: their connections are cut.
  return { origin: `http://${hostAndPort}`, hostAndPort, received, close: () => closeServer(server, 0) };
}
