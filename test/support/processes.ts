import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild } from '../../cmd/standalone/servers/child.ts';
import { startGuard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { waitUntilReady } from '../../cmd/standalone/servers/ready.ts';

export type Command = 'api' | 'lane' | 'dispatcher' | 'controller';

export type TestProcess = {
  pid: number;
  /** The address it listens at: of the API, or of the probes. */
  url: string;
  /** What it has logged so far. */
  logs(): Promise<string>;
  hasEnded(): boolean;
  stop(): Promise<void>;
  kill9(): Promise<void>;
};

export type TestProcesses = {
  /** Starts one of our commands on a free port and resolves when it is ready; `env` adds to and replaces settings. */
  start(command: Command, env?: Record<string, string>): Promise<TestProcess>;
  /** Stops what still runs. */
  close(): Promise<void>;
};

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY_TIMEOUT_MS = 40_000;
const STOP_TIMEOUT_MS = 20_000;

/** Runs our commands as the processes that they are in production, with the given settings in common. */
export async function openTestProcesses(settings: Record<string, string>): Promise<TestProcesses> {
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-processes-'));
  const guard = startGuard();
  const started: TestProcess[] = [];

  async function start(command: Command, env: Record<string, string> = {}): Promise<TestProcess> {
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const logFile = join(dir, `${command}-${port}.log`);
    const child = await startChild({
      name: command,
      command: process.execPath,
      args: [join(ROOT, 'cmd', command, 'main.ts')],
      cwd: ROOT,
      env: {
        ...process.env,
        ARTIFACT_STORE: 'folder',
        ARTIFACT_DIR: join(dir, 'artifacts'),
        PUBLIC_BASE_URL: url,
        ...settings,
        HOST: '127.0.0.1',
        [command === 'api' ? 'PORT' : 'PROBE_PORT']: String(port),
        ...env,
      },
      logFile,
      stopSignal: 'SIGTERM',
      stopTimeoutMs: STOP_TIMEOUT_MS,
      channel: true,
      guard,
    });
    const readyUrl = `${url}${command === 'api' ? '/v1/health' : '/readyz'}`;
    await waitUntilReady(child, {
      logFile,
      timeoutMs: READY_TIMEOUT_MS,
      isReady: async () => (await fetch(readyUrl, { signal: AbortSignal.timeout(3_000) })).ok,
    });
    const { pid, hasEnded, stop, kill9 } = child;
    const running = { pid, url, hasEnded, stop, kill9, logs: () => readFile(logFile, 'utf8') };
    started.push(running);
    return running;
  }

  return {
    start,
    close: async () => {
      await Promise.all(started.map((each) => each.stop()));
      await guard.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
