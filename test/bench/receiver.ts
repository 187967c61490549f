import { createServer } from 'node:http';
import { portOf, startListening } from '../../pkg/telemetry/index.ts';

// A receiver of webhooks in a process of its own: it reads each body to its end and acknowledges.
const server = createServer((request, response) => {
  request.on('end', () => response.writeHead(204).end()).resume();
});
await startListening(server, '127.0.0.1', 0);
process.send?.({ port: portOf(server) });
