import { createServer } from 'node:net';
import { portOf, startListening } from '../../pkg/telemetry/index.ts';

// A receiver of webhooks in a process of its own: it reads each body to its end and acknowledges. It knows no more of
// HTTP than the benchmark's two clients send, because it runs on the cores of what is measured: what it costs is taken
// from the service, which needs all of them, and not from the bare loop, which leaves one half idle.
const HEAD_ENDS = '\r\n\r\n';
const ACKNOWLEDGED = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');

const server = createServer({ noDelay: true }, (socket) => {
  let head = Buffer.alloc(0);
  let bodyLeft = 0;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (bodyLeft === 0) {
        head = Buffer.concat([head, rest]);
        const end = head.indexOf(HEAD_ENDS);
        if (end < 0) return;
        const [, length = '0'] = /\ncontent-length: (\d+)/i.exec(head.toString('latin1', 0, end)) ?? [];
        rest = head.subarray(end + HEAD_ENDS.length);
        head = Buffer.alloc(0);
        bodyLeft = Number(length);
      }
      const taken = Math.min(bodyLeft, rest.length);
      bodyLeft -= taken;
      rest = rest.subarray(taken);
      if (bodyLeft === 0) socket.write(ACKNOWLEDGED);
    }
  });
});
await startListening(server, '127.0.0.1', 0);
process.send?.({ port: portOf(server) });
