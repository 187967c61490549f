import { rename } from 'node:fs/promises';
import { createDemoServer } from '../../pkg/demo/index.ts';
import { runCommand, type Lifetime } from '../../pkg/runtime/index.ts';
import { loadWatchManifests, type WatchManifest } from '../../pkg/watches/index.ts';
import { ensureDemoKey } from './demo-key.ts';
import { writeEnvFile, type Variables } from './env-file.ts';
import { lanesDirOf, savedVariables, serviceVariables } from './environment.ts';
import { takeLock } from './lock.ts';
import type { Places } from './places.ts';
import { loadSecrets, type Secrets } from './secrets.ts';
import { hasCode } from './servers/errors.ts';
import { startGuard, type Guard } from './servers/guard.ts';
import { findFreePort, isPortFree } from './servers/ports.ts';
import { startPostgres } from './servers/postgres.ts';
import { ensureChromium, ensureRedis } from './servers/programs.ts';
import { startRedis } from './servers/redis.ts';
import { startService } from './service.ts';
import { summarize, type Terminal } from './terminal.ts';
import { applyWatches, tellApplied } from './watches.ts';

export type BringUpOptions = {
  scope: Lifetime;
  terminal: Terminal;
  places: Places;
  settings: { host: string; port: number; browserExecutable: string };
};

/** The demo lanes in config/lanes name it. */
const DEMO_PORT = 8090;

const MIGRATE_TIMEOUT_MS = 120_000;
const SCS_TIMEOUT_MS = 60_000;
const READY_TIMEOUT_MS = 90_000;
const SERVICE_STOP_TIMEOUT_MS = 20_000;
const PROBE_TIMEOUT_MS = 3_000;

/** Starts everything in order, each step with its line, and prints the summary (design, "First use"). */
export async function bringUp(options: BringUpOptions): Promise<void> {
  const { scope, terminal, places, settings } = options;
  const baseUrl = `http://${hostToCall(settings.host)}:${settings.port}`;
  const words = 'cmd/standalone/main.ts';
  const release = await takeLock({ path: places.lock, pid: process.pid, address: baseUrl, words });
  scope.defer('lock', release);
  await checkPorts(options);
  const lanesDir = lanesDirOf(places, process.env);
  // Before anything is started: a mistake in a file is told at once.
  const watches = await loadWatchManifests(lanesDir);
  const { secrets, saved } = await loadSecrets(places.envFile, places.postgres);

  const guard = startGuard();
  scope.defer('guard', () => guard.close());
  const servers = await startServers(options, guard, secrets);
  const variables = serviceVariables(
    { places, secrets, ...servers, host: settings.host, port: settings.port, baseUrl },
    process.env,
  );
  const previous = { accountId: saved['DEMO_ACCOUNT_ID'], key: saved['DEMO_API_KEY'] };
  const known = {
    ...(previous.accountId && { accountId: previous.accountId }),
    ...(previous.key && { key: previous.key }),
  };
  await writeEnvFile(places.envFile, savedVariables(variables, secrets, known));

  const env = { ...process.env, ...variables };
  await runCommand(process.execPath, [places.command('migrate')], {
    cwd: places.root,
    env,
    timeoutMs: MIGRATE_TIMEOUT_MS,
  });
  terminal.say('Schema      up to date');
  await startServices(options, guard, env, baseUrl);

  const runScs = async (args: readonly string[]): Promise<unknown> =>
    JSON.parse(
      await runCommand(process.execPath, [places.command('scs'), ...args], {
        cwd: places.root,
        env,
        timeoutMs: SCS_TIMEOUT_MS,
      }),
    );
  const demo = await ensureDemoKey({ saved: known, baseUrl, runScs });
  await writeEnvFile(places.envFile, savedVariables(variables, secrets, demo));
  await mirrorWatches(terminal, env, demo.key, watches);
  terminal.print(
    summarize({
      baseUrl,
      ...demo,
      demoUrl: servers.demoUrl,
      lanesDir,
      logs: '.local/log',
    }),
  );
}

async function mirrorWatches(
  terminal: Terminal,
  env: NodeJS.ProcessEnv,
  key: string,
  manifests: readonly WatchManifest[],
): Promise<void> {
  const applied = await applyWatches(env, key, manifests);
  const told = tellApplied(applied);
  if (told !== null) terminal.say(`Watches     ${told}`);
  for (const problem of applied.problems) terminal.say(`Watches     ${problem}`);
}

/** Where a server that listens on `host` is called from this machine, as part of a URL. */
function hostToCall(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

async function checkPorts({ settings }: BringUpOptions): Promise<void> {
  if (!(await isPortFree(settings.host, settings.port))) {
    throw new Error(
      `Port ${settings.port} of ${settings.host} is taken by another program. Stop it, or choose another: PORT=8081 make run`,
    );
  }
  if (!(await isPortFree('127.0.0.1', DEMO_PORT))) {
    throw new Error(
      `Port ${DEMO_PORT}, where the simulated engines listen, is taken by another program. Stop it and try again.`,
    );
  }
}

type Servers = { databaseUrl: string; redisUrl: string; demoUrl: string; browser: string };

async function startServers(options: BringUpOptions, guard: Guard, secrets: Secrets): Promise<Servers> {
  const { scope, terminal, places, settings } = options;
  const { signal } = scope;
  const machine = { path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0, say: terminal.say };
  const browser = await ensureChromium(machine, settings.browserExecutable);
  terminal.say(`Chromium    ${browser}`);
  const program = await ensureRedis(machine);

  const postgres = await startPostgres({
    dataDir: places.postgres,
    logFile: await freshLog(places, 'postgres'),
    port: await findFreePort(),
    password: secrets.postgresPassword,
    durable: true,
    guard,
    signal,
  });
  scope.defer('Postgres', async () => {
    await postgres.stop();
    terminal.say('Postgres    stopped');
  });
  terminal.say(`Postgres    ready, data in .local/postgres`);

  const redis = await startRedis({
    program,
    dir: places.redis,
    logFile: await freshLog(places, 'redis'),
    port: await findFreePort(),
    durable: true,
    guard,
    signal,
  });
  scope.defer('Redis', async () => {
    await redis.stop();
    terminal.say('Redis       stopped');
  });
  terminal.say(`Redis       ready, data in .local/redis`);
  // Without either nothing works: better a clear end than a service that answers with errors for hours.
  for (const server of [postgres, redis]) {
    void server.ended.then((how) => {
      if (signal.aborted) return;
      terminal.print(`\n${server.name} ended (${how}), so everything stops. Logs: .local/log\n`);
      scope.fail(new Error(`${server.name} ended: ${how}`));
    });
  }

  const demo = await createDemoServer({ host: '127.0.0.1', port: DEMO_PORT });
  scope.defer('demo', () => demo.close());
  terminal.say(`Engines     simulated at ${demo.url}`);
  return { databaseUrl: postgres.url, redisUrl: redis.url, demoUrl: demo.url, browser };
}

async function startServices(
  options: BringUpOptions,
  guard: Guard,
  env: Variables | NodeJS.ProcessEnv,
  baseUrl: string,
): Promise<void> {
  const { scope, terminal, places } = options;
  for (const name of ['api', 'lane', 'dispatcher']) {
    const probePort = await findFreePort();
    const readyUrl =
      name === 'api' ? `${baseUrl}/v1/health` : `http://${hostToCall(options.settings.host)}:${probePort}/readyz`;
    const service = await startService({
      child: {
        name,
        command: process.execPath,
        args: [places.command(name)],
        cwd: places.root,
        env: { ...env, PROBE_PORT: String(probePort) },
        logFile: await freshLog(places, name),
        stopSignal: 'SIGTERM',
        stopTimeoutMs: SERVICE_STOP_TIMEOUT_MS,
        channel: true,
        guard,
      },
      isReady: () => answersOk(readyUrl),
      readyTimeoutMs: READY_TIMEOUT_MS,
      backoffMs: 1_000,
      maxBackoffMs: 30_000,
      say: terminal.say,
      signal: scope.signal,
    });
    scope.defer(name, async () => {
      await service.stop();
      terminal.say(`${name.padEnd(12)}stopped`);
    });
    terminal.say(`${name.padEnd(12)}ready`);
  }
}

async function answersOk(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  await response.body?.cancel();
  return response.ok;
}

/** The log of this run; the one before is kept beside it. */
async function freshLog(places: Places, name: string): Promise<string> {
  const path = places.log(name);
  await rename(path, `${path}.old`).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
  return path;
}
