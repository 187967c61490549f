import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { startChild } from './child.ts';
import type { Guard } from './guard.ts';
import { endLeftover } from './leftovers.ts';
import type { Server } from './postgres.ts';
import { waitUntilReady } from './ready.ts';

export type RedisOptions = {
  /** Path of redis-server. */
  program: string;
  /** Absolute. Made when it is not there. */
  dir: string;
  logFile: string;
  port: number;
  /** Whether what it holds outlives it. */
  durable: boolean;
  /** How many numbered databases it has; 16 when left out. */
  databases?: number;
  guard: Guard;
  /** Gives up the wait for it to be ready. */
  signal?: AbortSignal;
};

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;

/** Starts Redis on 127.0.0.1 and resolves when it answers. One that an earlier run left behind is ended first. */
export async function startRedis(options: RedisOptions): Promise<Server> {
  const { program, dir, logFile, port, durable, databases, guard } = options;
  await mkdir(dir, { recursive: true });
  const pidFile = join(dir, 'redis.pid');
  await endLeftover({ pidFile, words: 'redis-server', signal: 'SIGTERM', timeoutMs: STOP_TIMEOUT_MS });
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir,
    pidfile: pidFile,
    save: '',
    appendonly: durable ? 'yes' : 'no',
    // BullMQ's keys must not be evicted: Redis is to refuse instead.
    'maxmemory-policy': 'noeviction',
    databases: String(databases ?? 16),
  };
  const child = await startChild({
    name: 'Redis',
    command: program,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    cwd: dir,
    env: process.env,
    logFile,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    channel: false,
    guard,
  });
  await waitUntilReady(child, {
    logFile,
    timeoutMs: READY_TIMEOUT_MS,
    signal: options.signal,
    isReady: () => answersPing(port),
  });
  return { ...child, url: `redis://127.0.0.1:${port}` };
}

/** False also while Redis still loads its data: then it answers `-LOADING`. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 2_000 });
    const end = (result: boolean | Error): void => {
      socket.destroy();
      if (result instanceof Error) reject(result);
      else resolve(result);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (answer) => end(answer.toString('latin1').startsWith('+PONG')));
    socket.once('timeout', () => end(new Error('no answer to PING')));
    socket.once('error', end);
  });
}
