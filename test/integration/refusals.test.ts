import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openArtifactStore, readArtifact, readPicture } from '../../pkg/artifacts/index.ts';
import type { CaptureResult, Driver } from '../../pkg/capture/index.ts';
import { createRunner, parseLane, publishLanes, readLanes, type Runner } from '../../pkg/lanes/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createCaptureMetrics, createLog, createRegistry } from '../../pkg/telemetry/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { accept, captured } from '../support/searches.ts';

let test: TestDatabase;
let accountId: string;
let asked: string[];
let answer: () => Promise<CaptureResult>;
let runner: Runner;

beforeAll(async () => {
  test = await openTestDatabase();
  await publishLanes(test.db.system, [
    parseLane(
      {
        apiVersion: 'searchcapture.io/v1alpha1',
        kind: 'CaptureLane',
        metadata: { name: 'refused' },
        spec: {
          surface: 'assistant_one',
          driver: 'browser',
          profile: { go: { url: 'http://x.example/' }, ask: [], finished: { quietMs: 1 }, read: { answer: 'p' } },
        },
      },
      'test',
    ),
  ]);
});
afterAll(() => test.close());

const BLOCKED: CaptureResult = {
  outcome: 'blocked',
  detail: 'The page shows a refusal (HTTP 403, title "Stop").',
  screenshot: new Uint8Array([137, 80, 78, 71]),
};
const SETTINGS = {
  artifactStore: 'postgres',
  artifactDir: '',
  s3Endpoint: '',
  s3Bucket: '',
  s3Region: '',
  s3AccessKeyId: '',
  s3SecretAccessKey: '',
  s3ForcePathStyle: false,
} as const;

beforeEach(async () => {
  await query(test.db.system, 'DELETE FROM lane_refusals');
  accountId = await openAccount(test.db, { credits: 1_000 });
  asked = [];
  answer = () => Promise.resolve(BLOCKED);
  const driver: Driver = {
    capture: (task) => {
      asked.push(task.captureId);
      return answer();
    },
    close: () => Promise.resolve(),
  };
  const artifacts = await openArtifactStore(SETTINGS, test.db.system);
  const metrics = createCaptureMetrics(createRegistry());
  runner = createRunner(
    { db: test.db, driver, artifacts, clock: systemClock, log: createLog('test', 'silent'), metrics },
    { surface: 'assistant_one', captureSeconds: 30, queueSeconds: 900, leaseSeconds: 30, retryBackoffSeconds: 1 },
  );
});

/** Searches, announced as the API would. Returns the announcements. */
async function search(count: number) {
  const accepted = await Promise.all(Array.from({ length: count }, () => accept(test.db, accountId)));
  return accepted.flatMap(({ announcements }) => announcements);
}

async function stateOf(captureId: string) {
  const [row] = await query<{ state: string; waits: number | null }>(
    test.db.system,
    `SELECT state, CAST(extract(epoch FROM announce_at - now()) AS double precision) AS waits FROM captures WHERE id = :captureId`,
    { captureId },
  );
  return row;
}

const endPause = () => query(test.db.system, 'UPDATE lane_refusals SET ask_again_at = now()');
const readLane = async () => (await readLanes(test.db.system)).get('assistant_one');

describe('a surface that refuses us', () => {
  it('is not asked by many waiting captures, which stay in the queue', async () => {
    const announcements = await search(8);
    for (const announcement of announcements) await runner.take(announcement);
    expect(asked).toHaveLength(3);
    const states = await Promise.all(announcements.map(({ captureId }) => stateOf(captureId)));
    expect(states.map((row) => row?.state).join(' ')).toBe(`${'failed '.repeat(3)}queued queued queued queued queued`);
    for (const row of states.slice(3)) expect(row?.waits).toBeGreaterThan(10);
  });

  it('shows as degraded, and synchronous searches are told at once while nobody asks it', async () => {
    const [first, ...rest] = await search(3);
    if (first === undefined) throw new Error('nothing was announced');
    await runner.take(first);
    expect(await readLane()).toMatchObject({
      live: true,
      unavailableReason: null,
      refusals: { inRow: 1, captureId: first.captureId, detail: expect.stringContaining('HTTP 403') },
    });
    for (const announcement of rest) await runner.take(announcement);
    expect((await readLane())?.unavailableReason).toMatch(/refused 3 captures in a row; it is asked again at 20/);
  });

  it('is tried by one capture alone when the pause is over, for longer and longer', async () => {
    for (const announcement of await search(3)) await runner.take(announcement);
    const pauses: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await endPause();
      const waiting = await search(4);
      const before = asked.length;
      await Promise.all(waiting.map((announcement) => runner.take(announcement)));
      expect(asked.length - before).toBe(1);
      const [row] = await query<{ seconds: number }>(
        test.db.system,
        `SELECT CAST(extract(epoch FROM ask_again_at - now()) AS double precision) AS seconds FROM lane_refusals`,
      );
      pauses.push(Math.round(row?.seconds ?? 0));
    }
    expect(pauses[0]).toBeGreaterThanOrEqual(28);
    expect(pauses[1]).toBeGreaterThan(50);
    expect(pauses[2]).toBeGreaterThan(110);
  });

  it('is asked freely again once it has answered', async () => {
    for (const announcement of await search(3)) await runner.take(announcement);
    await endPause();
    answer = () => Promise.resolve(captured('An answer.'));
    for (const announcement of await search(4)) await runner.take(announcement);
    expect(asked).toHaveLength(7);
    expect(await readLane()).toMatchObject({ refusals: null, unavailableReason: null });
  });

  it('keeps its turn for another where the capture that was to try it is gone', async () => {
    for (const announcement of await search(3)) await runner.take(announcement);
    await endPause();
    const [gone, next] = await search(2);
    if (gone === undefined || next === undefined) throw new Error('nothing was announced');
    await runner.take({ ...gone, fence: gone.fence + 7 });
    await runner.take(next);
    expect(asked.at(-1)).toBe(next.captureId);
  });

  it('does not hold back for one refusal between answers', async () => {
    const announcements = await search(6);
    for (const [index, announcement] of announcements.entries()) {
      answer = () => Promise.resolve(index % 3 === 2 ? captured('An answer.') : BLOCKED);
      await runner.take(announcement);
    }
    expect(asked).toHaveLength(6);
  });
});

describe('the picture of a refusal', () => {
  it('is kept once in a while, for the operator and never for a tenant', async () => {
    const announcements = await search(2);
    for (const announcement of announcements) await runner.take(announcement);
    const store = await openArtifactStore(SETTINGS, test.db.system);
    const pictures = await Promise.all(
      announcements.map(({ captureId }) => readPicture(test.db.system, store, captureId)),
    );
    expect(pictures.map((picture) => picture?.byteLength ?? null)).toEqual([4, null]);
    const [row] = await query<{ key: string }>(
      test.db.system,
      'SELECT key FROM artifacts WHERE account_id = :accountId',
      {
        accountId,
      },
    );
    await expect(readArtifact({ db: test.db, store }, accountId, row?.key ?? '', () => false)).rejects.toThrow(
      expect.objectContaining({ code: 'ARTIFACT_NOT_FOUND' }),
    );
  });

  it('of a failure that is tried again is not kept before the last attempt', async () => {
    answer = () => Promise.resolve({ ...BLOCKED, outcome: 'unusable' });
    const [announcement] = await search(1);
    if (announcement === undefined) throw new Error('nothing was announced');
    await runner.take(announcement);
    expect(await query(test.db.system, 'SELECT FROM lane_refusals WHERE pictured_at IS NOT NULL')).toEqual([]);
  });
});
