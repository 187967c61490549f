import { chmod, chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { runCommand } from '../../../pkg/runtime/index.ts';
import { startChild, type Child } from './child.ts';
import type { Guard } from './guard.ts';
import { endLeftover } from './leftovers.ts';
import { findPostgresPrograms } from './postgres-programs.ts';
import { chooseRunAs, type RunAs } from './postgres-user.ts';
import { waitUntilReady } from './ready.ts';

export type PostgresOptions = {
  /** Absolute. Made, and filled, when it is not there. */
  dataDir: string;
  logFile: string;
  port: number;
  /** Of the user `postgres`; fixed when the data folder is made. */
  password: string;
  /** False only for tests: a crash of the machine may then lose everything. */
  durable: boolean;
  guard: Guard;
  /** Gives up the wait for it to be ready. */
  signal?: AbortSignal;
};

export type Server = Child & { url: string };

const INIT_TIMEOUT_MS = 120_000;
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;

/**
 * Starts Postgres on 127.0.0.1 and resolves when it answers. A server that an earlier run left behind on the same data
 * is ended first. Needs no rights: as root it runs as another user.
 */
export async function startPostgres(options: PostgresOptions): Promise<Server> {
  const { dataDir, logFile, port, password, guard } = options;
  const programs = await findPostgresPrograms();
  await mkdir(dirname(dataDir), { recursive: true });
  const runAs = await chooseRunAs({ programFile: programs.postgres, dataDir, path: process.env['PATH'] ?? '' });
  if (!(await exists(dataDir))) await createCluster(programs.initdb, runAs, options);
  const pidFile = join(dataDir, 'postmaster.pid');
  await endLeftover({ pidFile, words: dataDir, signal: 'SIGINT', timeoutMs: STOP_TIMEOUT_MS });

  const child = await startChild({
    name: 'Postgres',
    ...runAs.command(programs.postgres, ['-D', dataDir, '-p', String(port), ...flags(options.durable)]),
    cwd: dirname(dataDir),
    env: process.env,
    logFile,
    // The "fast" way: sessions are ended, the data is left clean.
    stopSignal: 'SIGINT',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    channel: false,
    guard,
  });
  const url = `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
  await waitUntilReady(child, {
    logFile,
    timeoutMs: READY_TIMEOUT_MS,
    signal: options.signal,
    isReady: () => answers(url),
  });
  return { ...child, url };
}

function flags(durable: boolean): string[] {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'timezone=UTC'];
  if (!durable) settings.push('fsync=off', 'synchronous_commit=off', 'full_page_writes=off');
  return settings.flatMap((setting) => ['-c', setting]);
}

/** Made under another name and renamed at the end: an interrupted start must not leave half a cluster behind. */
async function createCluster(initdb: string, runAs: RunAs, options: PostgresOptions): Promise<void> {
  const unfinished = `${options.dataDir}.unfinished`;
  const passwordFile = `${options.dataDir}.password`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeFile(passwordFile, options.password, { mode: 0o600 });
  await chmod(passwordFile, 0o600);
  if (runAs.owner !== undefined) {
    for (const path of [unfinished, passwordFile]) await chown(path, runAs.owner.uid, runAs.owner.gid);
  }
  // The built-in locale is the same on every system, whatever locales it has.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const sync = options.durable ? [] : ['--no-sync'];
  try {
    const { command, args, ...user } = runAs.command(initdb, ['-D', unfinished, ...access, ...locale, ...sync]);
    await runCommand(command, args, { ...user, cwd: dirname(unfinished), timeoutMs: INIT_TIMEOUT_MS });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(unfinished, options.dataDir);
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  // A server that is still starting may drop the connection at any moment; the query below reports it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } finally {
    await client.end();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
