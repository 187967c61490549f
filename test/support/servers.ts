import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startGuard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { startPostgres, type Server } from '../../cmd/standalone/servers/postgres.ts';
import { ensureRedis } from '../../cmd/standalone/servers/programs.ts';
import { startRedis } from '../../cmd/standalone/servers/redis.ts';
import { migrate } from '../../pkg/postgres/index.ts';
import { TEMPLATE_DATABASE, withDatabaseName } from './database-names.ts';

type TestServers = { postgres: Server; redis: Server; redisProgram: string; stop(): Promise<void> };

// Jest calls set-up and tear-down as two functions of two files: this is what they share.
const running: TestServers[] = [];

/** One Postgres and one Redis on free ports in a temporary folder, and the migrated template of all test databases. */
export async function startTestServers(): Promise<TestServers> {
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-test-'));
  // As root, Postgres runs as another user, who must be let through.
  await chmod(dir, 0o755);
  const guard = startGuard();
  const undo: (() => Promise<void>)[] = [() => rm(dir, { recursive: true, force: true }), () => guard.close()];
  const stop = async (): Promise<void> => {
    for (const step of undo.reverse()) await step();
  };
  try {
    const redisProgram = await ensureRedis({
      path: process.env['PATH'] ?? '',
      isRoot: process.getuid?.() === 0,
      say: (line) => void process.stderr.write(`${line}\n`),
    });
    const postgres = await startPostgres({
      dataDir: join(dir, 'postgres'),
      logFile: join(dir, 'postgres.log'),
      port: await findFreePort(),
      password: 'test',
      durable: false,
      guard,
    });
    undo.push(() => postgres.stop());
    const redis = await startRedis({
      program: redisProgram,
      dir: join(dir, 'redis'),
      logFile: join(dir, 'redis.log'),
      port: await findFreePort(),
      durable: false,
      // Each test gets a number of its own.
      databases: 10_000,
      guard,
    });
    undo.push(() => redis.stop());
    await createTemplate(postgres.url);
    const servers = { postgres, redis, redisProgram, stop };
    running.push(servers);
    return servers;
  } catch (error) {
    await stop();
    throw error;
  }
}

async function createTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  } finally {
    await client.end();
  }
  await migrate(withDatabaseName(url, TEMPLATE_DATABASE));
}

export async function stopTestServers(): Promise<void> {
  for (const servers of running.splice(0)) await servers.stop();
}
