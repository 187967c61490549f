import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startGuard, type Guard } from '../../cmd/standalone/servers/guard.ts';
import { isRunning } from '../../cmd/standalone/servers/leftovers.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { startPostgres } from '../../cmd/standalone/servers/postgres.ts';
import { startRedis } from '../../cmd/standalone/servers/redis.ts';
import { query } from '../../pkg/postgres/index.ts';
import { openTestDatabase } from '../support/database.ts';
import { readVariable } from '../support/environment.ts';
import { until } from '../support/poll.ts';
import { findEmptyRedis, startOwnRedis } from '../support/redis.ts';

describe('the servers of the tests', () => {
  it('give each test a migrated database that no other test sees', async () => {
    const [one, other] = await Promise.all([openTestDatabase(), openTestDatabase()]);
    try {
      await one.db.system.raw('CREATE TABLE mine (id int)');
      const find = `SELECT to_regclass('accounts')::text AS migrated, to_regclass('mine')::text AS mine`;
      expect(await query(one.db.system, find)).toEqual([{ migrated: 'accounts', mine: 'mine' }]);
      expect(await query(other.db.system, find)).toEqual([{ migrated: 'accounts', mine: null }]);
    } finally {
      await Promise.all([one.close(), other.close()]);
    }
  });

  it('give each test an empty Redis of its own', async () => {
    const urls = await Promise.all([findEmptyRedis(), findEmptyRedis()]);
    expect(new Set(urls).size).toBe(2);
    for (const url of urls) {
      const client = new Redis(url);
      expect(await client.dbsize()).toBe(0);
      await client.set('left', 'behind');
      client.disconnect();
    }
  });

  it('let a test take its own Redis away and bring it back at the same address', async () => {
    const own = await startOwnRedis();
    const client = new Redis(own.url, { retryStrategy: () => 50 });
    client.on('error', () => undefined);
    try {
      expect(await client.ping()).toBe('PONG');
      await own.kill9();
      await until(() => client.status !== 'ready', { timeoutMs: 5_000, what: 'the connection to be lost' });
      await own.restart();
      await until(() => client.status === 'ready', { timeoutMs: 5_000, what: 'the connection to be back' });
      expect(await client.ping()).toBe('PONG');
    } finally {
      client.disconnect();
      await own.close();
    }
  });
});

describe('the servers of the local launcher', () => {
  let dir = '';
  let guard: Guard;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'launcher-'));
    guard = startGuard();
  });
  afterEach(async () => {
    await guard.close();
    await rm(dir, { recursive: true, force: true });
  });

  // The folder made by mkdtemp is closed to others: as root this is also the checkout below /root.
  it('keep their data over a stop, and over a kill that left the old server running', async () => {
    const start = async (withGuard: Guard) => ({
      postgres: await startPostgres({
        dataDir: join(dir, 'postgres'),
        logFile: join(dir, 'postgres.log'),
        port: await findFreePort(),
        password: 'a b/c@d',
        durable: true,
        guard: withGuard,
      }),
      redis: await startRedis({
        program: readVariable('TEST_REDIS_PROGRAM'),
        dir: join(dir, 'redis'),
        logFile: join(dir, 'redis.log'),
        port: await findFreePort(),
        durable: true,
        guard: withGuard,
      }),
    });
    const unguarded: Guard = { watch: () => undefined, forget: () => undefined, close: () => Promise.resolve() };

    const first = await start(unguarded);
    const writer = new Redis(first.redis.url);
    await writer.set('kept', 'yes');
    writer.disconnect();
    const second = await start(guard);
    expect([await first.postgres.ended, await first.redis.ended]).toEqual(['exit code 0', 'exit code 0']);
    const reader = new Redis(second.redis.url);
    expect(await reader.get('kept')).toBe('yes');
    reader.disconnect();
    await Promise.all([second.postgres.stop(), second.redis.stop()]);
    expect([await second.postgres.ended, await second.redis.ended]).toEqual(['exit code 0', 'exit code 0']);
  });

  it('are ended when the launcher is killed', async () => {
    const servers = fileURLToPath(new URL('../../cmd/standalone/servers', import.meta.url));
    const script = join(dir, 'launcher.ts');
    const pidFile = join(dir, 'pid');
    await writeFile(
      script,
      `import { writeFile } from 'node:fs/promises';
       import { startGuard } from '${pathToFileURL(join(servers, 'guard.ts')).href}';
       import { startRedis } from '${pathToFileURL(join(servers, 'redis.ts')).href}';
       const redis = await startRedis({
         program: '${readVariable('TEST_REDIS_PROGRAM')}', dir: '${dir}/redis', logFile: '${dir}/redis.log',
         port: ${await findFreePort()}, durable: false, guard: startGuard(),
       });
       await writeFile('${pidFile}', String(redis.pid));`,
    );
    const launcher = spawn(process.execPath, [script], { stdio: 'inherit' });
    const readPid = async () => Number(await readFile(pidFile, 'utf8').catch(() => '0')) || undefined;
    const pid = await until(readPid, { timeoutMs: 20_000, what: 'Redis to start' });
    expect(await isRunning(pid, 'redis-server')).toBe(true);
    launcher.kill('SIGKILL');
    await once(launcher, 'exit');
    await until(async () => !(await isRunning(pid, 'redis-server')), { timeoutMs: 10_000, what: 'Redis to end' });
  });
});
