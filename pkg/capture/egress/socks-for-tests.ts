import { connect, createServer, type Server, type Socket } from 'node:net';

export type SocksServer = { server: Server; seen: string[] };

/** A SOCKS5 proxy with a password (RFC 1928, 1929) whose every name leads to 127.0.0.1. */
export function createSocksServer(): SocksServer {
  const seen: string[] = [];
  const server = createServer((client) => {
    client.on('error', () => client.destroy());
    serve(client, seen).catch(() => client.destroy());
  });
  return { server, seen };
}

async function serve(client: Socket, seen: string[]): Promise<void> {
  await read(client);
  client.write(Buffer.from([5, 2]));
  const login = await read(client);
  const nameEnd = 2 + (login[1] ?? 0);
  const credentials = `${login.toString('utf8', 2, nameEnd)}:${login.toString('utf8', nameEnd + 1)}`;
  client.write(Buffer.from([1, 0]));
  const wish = await read(client);
  const isName = wish[3] === 3;
  const host = isName ? wish.toString('utf8', 5, 5 + (wish[4] ?? 0)) : [...wish.subarray(4, 8)].join('.');
  seen.push(`${credentials}@${host}`);
  const target = connect(wish.readUInt16BE(wish.length - 2), '127.0.0.1', () => {
    client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
    client.pipe(target).pipe(client);
  });
  target.on('error', () => client.destroy());
  client.on('close', () => target.destroy());
}

function read(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    socket.once('data', resolve);
    socket.once('close', () => reject(new Error('the client went away')));
  });
}
