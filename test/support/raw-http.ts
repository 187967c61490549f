import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

export type RawAnswer = { status: number; headers: Map<string, string>; body: string };

/**
 * Sends these bytes as they are, which no HTTP client would, and reads what comes until the connection ends.
 * `more` is sent when the first bytes have come.
 */
export async function sendRaw(url: string, request: string, more = ''): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), timeout: 20_000 });
  socket.on('timeout', () => socket.destroy(new Error('the connection was left open')));
  socket.write(request);
  socket.once('data', () => socket.write(more));
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n', 2);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const [name = '', ...value] = line.split(': ');
    return [name.toLowerCase(), value.join(': ')];
  });
  return { status: Number(statusLine.split(' ')[1]), headers: new Map(headers), body };
}
