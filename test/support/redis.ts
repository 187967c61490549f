import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startGuard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { startRedis } from '../../cmd/standalone/servers/redis.ts';
import { readVariable } from './environment.ts';

/** The address of an empty numbered database of the shared Redis that no other test uses. Nothing to close. */
export async function findEmptyRedis(): Promise<string> {
  const shared = new Redis(readVariable('TEST_REDIS_URL'), { connectTimeout: 5_000, commandTimeout: 5_000 });
  try {
    return `${readVariable('TEST_REDIS_URL')}/${await shared.incr('test:last-database')}`;
  } finally {
    shared.disconnect();
  }
}

export type OwnRedis = {
  url: string;
  kill9(): Promise<void>;
  stop(): Promise<void>;
  /** Stops the process where it is: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Starts it again, empty, at the same address. */
  restart(): Promise<void>;
  /** Stops it for good. */
  close(): Promise<void>;
};

/** A Redis for one test that flushes it or takes it away. */
export async function startOwnRedis(): Promise<OwnRedis> {
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-redis-'));
  const guard = startGuard();
  const port = await findFreePort();
  const program = readVariable('TEST_REDIS_PROGRAM');
  const start = () => startRedis({ program, dir, logFile: join(dir, 'redis.log'), port, durable: false, guard });
  let server = await start();
  return {
    url: server.url,
    kill9: () => server.kill9(),
    stop: () => server.stop(),
    freeze: () => process.kill(server.pid, 'SIGSTOP'),
    thaw: () => process.kill(server.pid, 'SIGCONT'),
    restart: async () => {
      await server.stop();
      server = await start();
    },
    close: async () => {
      await server.stop();
      await guard.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
