import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../../cmd/standalone/servers/child.ts';
import { startGuard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { waitUntilReady } from '../../cmd/standalone/servers/ready.ts';
import { installPython } from './python.ts';

export type SignedS3 = {
  url: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  stop(): Promise<void>;
};

const POLICY = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };
const DEADLINE_MS = 10_000;

/** Moto: an S3 server that checks signatures (s3rver leaves those of version 4 unread), with one empty bucket. */
export async function startSignedS3(): Promise<SignedS3> {
  const bin = await installPython({ name: 'moto', version: '5.2.5', also: ['moto[s3,server]==5.2.5'] });
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-moto-'));
  const guard = startGuard();
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(dir, 'log');
  const bucket = 'proofs';
  const child = await startChild({
    name: 'moto',
    command: join(bin, 'moto_server'),
    args: ['-H', '127.0.0.1', '-p', String(port)],
    cwd: dir,
    // As many requests as `makeUser` and the bucket need are let in unsigned.
    env: { ...process.env, INITIAL_NO_AUTH_ACTION_COUNT: '4', PYTHONDONTWRITEBYTECODE: '1' },
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
    const isReady = async () =>
      (await fetch(`${url}/moto-api/data.json`, { signal: AbortSignal.timeout(3_000) })).status > 0;
    await waitUntilReady(child, { logFile, timeoutMs: 60_000, isReady });
    const user = await makeUser(url);
    await call(`${url}/${bucket}`, 's3', 'PUT');
    return { url, bucket, ...user, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function makeUser(url: string): Promise<Pick<SignedS3, 'accessKeyId' | 'secretAccessKey'>> {
  const act = (Action: string, more: Record<string, string> = {}) =>
    call(url, 'iam', 'POST', new URLSearchParams({ Action, Version: '2010-05-08', UserName: 'lane', ...more }));
  await act('CreateUser');
  const made = await act('CreateAccessKey');
  await act('PutUserPolicy', { PolicyName: 'all', PolicyDocument: JSON.stringify(POLICY) });
  const read = (name: string): string => {
    const value = new RegExp(`<${name}>([^<]+)<`).exec(made)?.[1];
    if (value === undefined) throw new Error(`moto made no ${name}: ${made}`);
    return value;
  };
  return { accessKeyId: read('AccessKeyId'), secretAccessKey: read('SecretAccessKey') };
}

/** Moto tells by the credential's scope which service is meant; while it lets everybody in, nothing else is read. */
async function call(url: string, service: 'iam' | 's3', method: string, body?: URLSearchParams): Promise<string> {
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=nobody/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=none`,
    },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`moto refused ${method} ${url}: ${text}`);
  return text;
}
