import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../../cmd/standalone/servers/child.ts';
import { startGuard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { waitUntilReady } from '../../cmd/standalone/servers/ready.ts';
import { ensureProgram, type Program } from '../../pkg/runtime/index.ts';

const NGINX: Program = {
  title: 'nginx',
  names: ['nginx', '/usr/sbin/nginx'],
  packages: { 'apt-get': ['nginx-light', 'nginx'], apk: ['nginx'], dnf: ['nginx'], brew: ['nginx'] },
  service: 'nginx',
};

export type BenchReceiver = { url: string; hostAndPort: string; close(): Promise<void> };

/**
 * A receiver of webhooks that reads each to its end and acknowledges: nginx with one process, because it runs on the cores
 * of what is measured. What a receiver costs is taken from the service, which needs all of them, and not from the bare
 * loop, which leaves one half idle.
 */
export async function startBenchReceiver(): Promise<BenchReceiver> {
  const program = await ensureProgram(NGINX, {
    path: process.env['PATH'] ?? '',
    isRoot: process.getuid?.() === 0,
    say: (line) => console.error(line),
  });
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-receiver-'));
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}/hook`;
  await writeFile(
    join(dir, 'nginx.conf'),
    `daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
     events { worker_connections 4096; }
     http {
       access_log off; keepalive_requests 1000000000; client_header_buffer_size 32k; client_body_temp_path body;
       server { listen 127.0.0.1:${port}; location / { return 204; } }
     }`,
  );
  const guard = startGuard();
  const logFile = join(dir, 'nginx.log');
  const child = await startChild({
    name: 'nginx',
    command: program,
    args: ['-p', dir, '-c', 'nginx.conf', '-e', 'stderr'],
    cwd: dir,
    env: process.env,
    logFile,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 10_000,
    channel: false,
    guard,
  });
  const isReady = async () => (await fetch(url, { signal: AbortSignal.timeout(3_000) })).ok;
  await waitUntilReady(child, { logFile, timeoutMs: 20_000, isReady });
  return {
    url,
    hostAndPort: new URL(url).host,
    close: async () => {
      await child.stop();
      await guard.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
