import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openArtifactStore, type ArtifactStore } from '../../pkg/artifacts/index.ts';
import { createS3Store } from '../../pkg/artifacts/s3.ts';
import { loadSettings } from '../../pkg/config/index.ts';
import { openDatabase, type Sql } from '../../pkg/postgres/index.ts';
import { closeServer, portOf, startListening } from '../../pkg/telemetry/index.ts';
import { openTestDatabase } from '../support/database.ts';
import { S3_KEY, startS3, type TestS3 } from '../support/s3.ts';

const S3_SETTINGS = (s3: TestS3) => ({
  ARTIFACT_STORE: 's3',
  S3_ENDPOINT: s3.url,
  S3_BUCKET: s3.bucket,
  S3_ACCESS_KEY_ID: S3_KEY,
  S3_SECRET_ACCESS_KEY: S3_KEY,
});

const undo: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

const database = await openTestDatabase();
undo.push(() => database.close());

function open(env: NodeJS.ProcessEnv, sql: Sql = database.db.system): Promise<ArtifactStore> {
  const settings = loadSettings(env, [
    'artifactStore',
    'artifactDir',
    's3Endpoint',
    's3Bucket',
    's3Region',
    's3AccessKeyId',
    's3SecretAccessKey',
    's3ForcePathStyle',
  ]);
  return openArtifactStore(settings, sql);
}

async function openFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-artifacts-'));
  undo.push(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

type Kind = {
  name: string;
  openStore: () => Promise<ArtifactStore>;
  /** The store opened in the ordinary way, and then taken away under it. */
  openStoreThatIsAway: () => Promise<ArtifactStore>;
};

const KINDS: Kind[] = [
  {
    name: 'folder',
    openStore: async () => open({ ARTIFACT_STORE: 'folder', ARTIFACT_DIR: await openFolder() }),
    openStoreThatIsAway: async () => {
      const file = join(await openFolder(), 'a-file-where-the-folder-should-be');
      await writeFile(file, '');
      return open({ ARTIFACT_STORE: 'folder', ARTIFACT_DIR: file });
    },
  },
  {
    name: 'postgres',
    openStore: () => open({ ARTIFACT_STORE: 'postgres' }),
    openStoreThatIsAway: async () => {
      const own = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' });
      await own.close();
      return open({ ARTIFACT_STORE: 'postgres' }, own.system);
    },
  },
  {
    name: 's3',
    openStore: async () => {
      const s3 = await startS3();
      undo.push(() => s3.stop());
      return open(S3_SETTINGS(s3));
    },
    openStoreThatIsAway: async () => {
      const s3 = await startS3();
      const store = await open(S3_SETTINGS(s3));
      await store.probe();
      await s3.stop();
      return store;
    },
  },
];

describe.each(KINDS)('the artifact store $name', ({ openStore, openStoreThatIsAway }) => {
  let opened: Promise<ArtifactStore> | undefined;
  const useStore = (): Promise<ArtifactStore> => (opened ??= openStore());
  afterAll(async () => (await opened)?.close());

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('<!doctype html>ünïcode 🦊')],
    ['one megabyte', randomBytes(1024 * 1024)],
  ])('gives back %s byte for byte', async (_, bytes) => {
    const store = await useStore();
    await store.put(hashOf(bytes), bytes);
    const read = await store.get(hashOf(bytes));
    expect(read === null ? null : hashOf(read)).toBe(hashOf(bytes));
    expect(read).toHaveLength(bytes.length);
  });

  it('has nothing under a hash that was never stored', async () => {
    const store = await useStore();
    expect(await store.get(hashOf(randomBytes(16)))).toBeNull();
  });

  it('takes the same bytes again and at the same time', async () => {
    const store = await useStore();
    const bytes = randomBytes(1000);
    await Promise.all([1, 2, 3].map(() => store.put(hashOf(bytes), bytes)));
    await store.put(hashOf(bytes), bytes);
    expect(hashOf((await store.get(hashOf(bytes))) ?? Buffer.alloc(0))).toBe(hashOf(bytes));
  });

  it.each(['', 'probe', '../escape', 'A'.repeat(64), 'a'.repeat(63), `${'a'.repeat(64)}/x`])(
    'refuses the name %j, which is no hash',
    async (name) => {
      const store = await useStore();
      await expect(store.put(name, Buffer.from('x'))).rejects.toThrow('named by the hash');
      await expect(store.get(name)).rejects.toThrow('named by the hash');
    },
  );

  it('says that it works, and says so again', async () => {
    const store = await useStore();
    await store.probe();
    await expect(store.probe()).resolves.toBeUndefined();
  });

  it('rejects when the store is away', async () => {
    const store = await openStoreThatIsAway();
    const bytes = randomBytes(10);
    await expect(store.probe()).rejects.toThrow();
    await expect(store.put(hashOf(bytes), bytes)).rejects.toThrow();
    await expect(store.get(hashOf(bytes))).rejects.toThrow();
    await store.close();
  });
});

describe('the artifact store s3', () => {
  const options = {
    bucket: 'proofs',
    endpoint: '',
    region: 'us-east-1',
    accessKeyId: S3_KEY,
    secretAccessKey: S3_KEY,
    forcePathStyle: true,
  };

  it.each([
    { env: {}, problem: 'S3_BUCKET' },
    { env: { S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'id' }, problem: 'together' },
    { env: { S3_BUCKET: 'b', S3_SECRET_ACCESS_KEY: 'secret' }, problem: 'together' },
  ])('does not open with $env', async ({ env, problem }) => {
    await expect(open({ ARTIFACT_STORE: 's3', ...env })).rejects.toThrow(problem);
  });

  it.each([
    { what: 'its bucket is missing', wrong: { bucket: 'no-such-bucket' }, reason: 'NoSuchBucket' },
    { what: 'its key is unknown', wrong: { accessKeyId: 'unknown' }, reason: 'InvalidAccessKeyId' },
  ])('never takes a failure for a missing page: $what', async ({ wrong, reason }) => {
    const s3 = await startS3();
    undo.push(() => s3.stop());
    const store = createS3Store({ ...options, endpoint: s3.url, ...wrong });
    await expect(store.get(hashOf(Buffer.from('x')))).rejects.toThrow(reason);
    await expect(store.probe()).rejects.toThrow(reason);
    await store.close();
  });

  it.each([
    { where: 'before its answer', sendsHead: false },
    { where: 'inside the page', sendsHead: true },
  ])('gives up on a server that stalls $where', async ({ sendsHead }) => {
    const server = createServer((_, response) => {
      if (!sendsHead) return;
      response.writeHead(200, { 'content-length': '1000' });
      response.write('the first bytes');
    });
    await startListening(server, '127.0.0.1', 0);
    const endpoint = `http://127.0.0.1:${portOf(server)}`;
    const store = createS3Store({ ...options, endpoint, totalTimeoutMs: 300 });
    const startMs = performance.now();
    try {
      await expect(store.get(hashOf(Buffer.from('x')))).rejects.toThrow('S3 could not read');
      expect(performance.now() - startMs).toBeLessThan(5_000);
    } finally {
      await store.close();
      await closeServer(server, 100);
    }
  });
});
