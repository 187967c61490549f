import { connect, createServer, type Server, type Socket } from 'node:net';

/** A network that can be broken: every connection to `port` goes on to the server, as long as it is let. */
export type Proxy = {
  port: number;
  /** Connections taken so far. */
  opened(): number;
  /** Ends all connections with a reset. */
  cut(): void;
  /** Connections that are open now stay open, and nothing goes through them ever again. */
  stall(): void;
  /** Everything is held up by so much, in both directions. */
  delay(delayMs: number): void;
  /** New connections are reset at once. */
  refuse(isRefusing: boolean): void;
  close(): Promise<void>;
};

type Link = { sockets: readonly [Socket, Socket]; isStalled: boolean };

export async function startProxy(targetPort: number): Promise<Proxy> {
  const links = new Set<Link>();
  let [opened, delayMs, isRefusing] = [0, 0, false];

  function pass(link: Link, from: Socket, to: Socket): void {
    from.on('data', (chunk) => {
      if (link.isStalled) return;
      // Equal delays keep the order.
      setTimeout(() => {
        if (!link.isStalled && !to.destroyed) to.write(chunk);
      }, delayMs);
    });
    from.on('end', () => setTimeout(() => link.isStalled || to.end(), delayMs));
    from.on('error', () => to.destroy());
    from.on('close', () => {
      links.delete(link);
      if (!link.isStalled) setTimeout(() => to.destroy(), delayMs);
    });
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    opened += 1;
    if (isRefusing) {
      near.on('error', () => undefined).resetAndDestroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port: targetPort, allowHalfOpen: true, noDelay: true });
    const link: Link = { sockets: [near, far], isStalled: false };
    links.add(link);
    pass(link, near, far);
    pass(link, far, near);
  });
  await listen(server);
  const cut = (): void => {
    for (const { sockets } of links) for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: portOf(server),
    opened: () => opened,
    cut,
    stall: () => {
      for (const link of links) link.isStalled = true;
    },
    delay: (nextMs) => (delayMs = nextMs),
    refuse: (next) => (isRefusing = next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve());
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port');
  return address.port;
}
