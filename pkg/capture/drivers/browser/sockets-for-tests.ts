import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Site } from './surface-for-tests.ts';

/** Just enough of a web socket server: shakes hands and sends short texts. Returns what closes them. */
export function openSockets(target: Site, talk: (write: (text: string) => void) => void): () => void {
  const open = new Set<Socket>();
  target.onUpgrade((request, socket) => {
    open.add(socket);
    socket.on('error', () => socket.destroy());
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    talk((text) => {
      if (!socket.destroyed)
        socket.write(Buffer.concat([Buffer.from([0x81, Buffer.byteLength(text)]), Buffer.from(text)]));
    });
  });
  return () => open.forEach((socket) => socket.destroy());
}
