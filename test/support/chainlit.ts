import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild } from '../../cmd/standalone/servers/child.ts';
import type { Guard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { waitUntilReady } from '../../cmd/standalone/servers/ready.ts';
import { installPython } from './python.ts';

const APP = fileURLToPath(new URL('../../config/lanes/examples/chainlit/app.py', import.meta.url));
const READY_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 5_000;
const LOOK_TIMEOUT_MS = 3_000;

export type StartedSoftware = { url: string; stop(): Promise<void> };

/** Chainlit with the example's assistant, on a free port. What it writes stays in `dir`. */
export async function startChainlit({ dir, guard }: { dir: string; guard: Guard }): Promise<StartedSoftware> {
  const bin = await installPython({ name: 'chainlit', version: '2.12.0' });
  const root = join(dir, 'chainlit');
  await mkdir(root, { recursive: true });
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(dir, 'chainlit.log');
  const child = await startChild({
    name: 'Chainlit',
    command: join(bin, 'chainlit'),
    args: ['run', APP, '--headless', '--host', '127.0.0.1', '--port', String(port)],
    cwd: root,
    env: { ...process.env, CHAINLIT_APP_ROOT: root, TMPDIR: root, PYTHONDONTWRITEBYTECODE: '1' },
    logFile,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    channel: false,
    guard,
  });
  const isReady = async () => (await fetch(url, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) })).ok;
  await waitUntilReady(child, { logFile, timeoutMs: READY_TIMEOUT_MS, isReady });
  return { url, stop: child.stop };
}
