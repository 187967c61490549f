import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../../cmd/standalone/servers/child.ts';
import { startGuard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { waitUntilReady } from '../../cmd/standalone/servers/ready.ts';

/** The only key pair that s3rver knows. */
export const S3_KEY = 'S3RVER';

export type TestS3 = { url: string; bucket: string; stop(): Promise<void> };

/** An S3 server with one empty bucket, as a process of its own. */
export async function startS3(): Promise<TestS3> {
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-s3-'));
  const guard = startGuard();
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const bucket = 'proofs';
  const logFile = join(dir, 'log');
  const program = join(createRequire(import.meta.url).resolve('s3rver'), '../../bin/s3rver.js');
  const child = await startChild({
    name: 's3rver',
    command: process.execPath,
    args: [program, '-d', join(dir, 'data'), '-p', String(port), '-a', '127.0.0.1', '--configure-bucket', bucket],
    cwd: dir,
    env: process.env,
    logFile,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 5_000,
    channel: false,
    guard,
  });
  const stop = async (): Promise<void> => {
    await child.stop();
    await guard.close();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    // Any answer will do: without a signature, it refuses.
    const isReady = async (): Promise<boolean> => (await fetch(url, { signal: AbortSignal.timeout(3_000) })).status > 0;
    await waitUntilReady(child, { logFile, timeoutMs: 20_000, isReady });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, bucket, stop };
}
