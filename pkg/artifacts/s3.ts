import { addAbortSignal, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { assertHash, type ArtifactStore } from './store.ts';

const CONNECT_TIMEOUT_MS = 2_000;
const TOTAL_TIMEOUT_MS = 10_000;
/** One object that every process overwrites: a probe leaves nothing behind and needs no right to delete. */
const PROBE_KEY = 'probe';

export type S3Options = {
  bucket: string;
  /** Empty: AWS. */
  endpoint: string;
  region: string;
  /** Empty together with the secret: the identity that the environment gives the workload. */
  accessKeyId: string;
  secretAccessKey: string;
  forcePathStyle: boolean;
  /** For one call with its retries and its body; 10 s unless told. */
  totalTimeoutMs?: number;
};

/** A bucket that exists already, at AWS or in any store that speaks S3. Throws when the options are not enough. */
export function createS3Store(options: S3Options): ArtifactStore {
  const { bucket, totalTimeoutMs = TOTAL_TIMEOUT_MS } = options;
  const client = new S3Client(configOf(options, totalTimeoutMs));

  async function call<T>(what: string, work: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await work(AbortSignal.timeout(totalTimeoutMs));
    } catch (cause) {
      throw new Error(`S3 could not ${what} in bucket ${bucket}: ${reasonOf(cause)}`, { cause });
    }
  }

  const put = async (Key: string, bytes: Uint8Array, abortSignal: AbortSignal): Promise<void> => {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: bytes }), { abortSignal });
  };
  const get = async (Key: string, abortSignal: AbortSignal): Promise<Uint8Array | null> => {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key }), { abortSignal });
      if (!(Body instanceof Readable)) throw new Error('the answer has no body');
      // The client's own deadline ends with the headers: a body that stalls would be waited for without end.
      return await buffer(addAbortSignal(abortSignal, Body));
    } catch (error) {
      // Not any 404: a bucket that is missing must not read as a page that is.
      if (error instanceof NoSuchKey) return null;
      throw error;
    }
  };

  return {
    put: async (sha256, bytes) => {
      assertHash(sha256);
      await call(`store ${sha256}`, (signal) => put(sha256, bytes, signal));
    },
    get: async (sha256) => {
      assertHash(sha256);
      return call(`read ${sha256}`, (signal) => get(sha256, signal));
    },
    probe: () =>
      call('be written and read', async (signal) => {
        await put(PROBE_KEY, Buffer.from('ok'), signal);
        if ((await get(PROBE_KEY, signal)) === null) throw new Error('what was just written is not there');
      }),
    close: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
}

function configOf(options: S3Options, totalTimeoutMs: number): S3ClientConfig {
  const { bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle } = options;
  if (bucket === '') throw new Error('S3_BUCKET is needed with ARTIFACT_STORE=s3');
  if ((accessKeyId === '') !== (secretAccessKey === ''))
    throw new Error('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are set together or not at all');
  return {
    region,
    forcePathStyle,
    ...(endpoint === '' ? {} : { endpoint }),
    ...(accessKeyId === '' ? {} : { credentials: { accessKeyId, secretAccessKey } }),
    // Checksum headers of AWS's own kind make other stores refuse the request; the signature covers the bytes anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: totalTimeoutMs,
      throwOnRequestTimeout: true,
    },
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : `${error.name}: ${error.message}`;
}
