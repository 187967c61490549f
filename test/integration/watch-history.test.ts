import { request as openRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type Envelope } from '../../pkg/contract/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { runCommand, systemClock } from '../../pkg/runtime/index.ts';
import { endCaptures, type Ending } from '../../pkg/searches/end.ts';
import { openAccount, openKey, TEST_PEPPER } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/poll.ts';
import { openTestProcesses, type TestProcess, type TestProcesses } from '../support/processes.ts';
import { findEmptyRedis } from '../support/redis.ts';
import { accept } from '../support/searches.ts';
import { callApi } from '../support/service.ts';
import { insertDueWatches } from '../support/watches.ts';

let database: TestDatabase;
let processes: TestProcesses;
let api: TestProcess;
let accountId: string;
let key: string;
let otherKey: string;

beforeAll(async () => {
  database = await openTestDatabase();
  processes = await openTestProcesses({
    DATABASE_URL: database.url,
    REDIS_URL: await findEmptyRedis(),
    API_KEY_PEPPER: TEST_PEPPER,
    SECRETS_KEYRING: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    // What is held must differ from what is merely not collected yet.
    NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=8',
  });
  accountId = await openAccount(database.db, { credits: 100_000 });
  ({ key } = await openKey(database.db, accountId));
  ({ key: otherKey } = await openKey(database.db, await openAccount(database.db)));
  api = await processes.start('api');
}, 90_000);
afterAll(async () => {
  await processes.close();
  await database.close();
});

async function makeWatch(): Promise<string> {
  const [id = ''] = await insertDueWatches(database.db.system, { accountId, dueSecondsAgo: -3_600 });
  return id;
}

type Found = { state?: 'completed' | 'partial' | 'failed'; text?: string; urls?: string[] };

let runs = 0;

/** A run whose captures, one for each surface, ended like this. */
async function makeRun(
  watchId: string,
  surfaces: string[],
  found: Found[],
): Promise<{ runId: string; children: string[] }> {
  const { jobId, children } = await accept(database.db, accountId, {
    surfaces: surfaces.map((surface) => (surface === 'engine_news' ? 'engine_news' : 'engine_search')),
  });
  const endings = children.map((captureId, index): Ending => endingOf(captureId, found[index] ?? {}));
  await database.db.inTransaction((sql) => endCaptures(sql, systemClock, jobId, endings));
  const runId = newId('wrun', Date.now());
  runs += 1;
  await query(
    database.db.system,
    `INSERT INTO watch_runs (id, account_id, watch_id, scheduled_for, status, job_id, detail, created_at)
     VALUES (:runId, :accountId, :watchId, now() + make_interval(hours => :runs), 'dispatched', :jobId, 'Started.',
       now() + make_interval(secs => :runs))`,
    { runId, accountId, watchId, runs, jobId },
  );
  return { runId, children: [...children] };
}

function endingOf(captureId: string, { state = 'completed', text = 'a text', urls = [] }: Found): Ending {
  return {
    captureId,
    fence: null,
    state,
    outcome: state,
    billed: false,
    error: state === 'failed' ? { code: 'ACQUISITION_FAILED', error: 'It failed.' } : null,
    findings: {
      surfacePresent: true,
      answer: { text, markdown: text, blocks: [] },
      evidence: {
        sources: urls.map((url, index) => ({
          id: index + 1,
          url,
          title: url,
          role: 'citation',
          cited: true,
          charRanges: [],
        })),
        fanOut: { provenance: 'none', queries: [] },
        mentions: null,
        shopping: null,
        ads: null,
      },
      model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
      webSearch: null,
      effectiveRegion: null,
      warnings: [],
    },
  };
}

type Change = { runId: string; childId: string; surface: string; comparedWith: { runId: string }; sources: unknown };

async function changesOf(watchId: string, search = ''): Promise<{ items: Change[]; nextCursor: string | null }> {
  const { status, text } = await callApi(api.url, key, 'GET', `/v1/watches/${watchId}/changes${search}`);
  expect(status).toBe(200);
  const page: unknown = JSON.parse(text);
  if (!isPage(page)) throw new Error(`no page: ${text}`);
  return page;
}

function isPage(page: unknown): page is { items: Change[]; nextCursor: string | null } {
  return typeof page === 'object' && page !== null && 'items' in page && 'nextCursor' in page;
}

describe('the changes of a watch', () => {
  it('are those between a completed capture and the last completed one before it, whatever failed between', async () => {
    const watchId = await makeWatch();
    const first = await makeRun(watchId, ['engine_news'], [{ text: 'red bicycles', urls: ['https://a.example/'] }]);
    await makeRun(watchId, ['engine_news'], [{ state: 'failed' }]);
    await makeRun(watchId, ['engine_news'], [{ state: 'partial', text: 'red', urls: [] }]);
    const last = await makeRun(
      watchId,
      ['engine_news'],
      [{ text: 'blue bicycles', urls: ['https://b.example/', 'https://a.example/'] }],
    );
    const { items } = await changesOf(watchId);
    expect(items).toMatchObject([
      {
        runId: last.runId,
        childId: last.children[0],
        surface: 'engine_news',
        region: 'GLOBAL',
        comparedWith: { runId: first.runId, childId: first.children[0] },
        surfacePresent: { before: true, after: true },
        text: { changed: true },
        sources: { gained: [{ url: 'https://b.example/', rank: 1 }], lost: [], moved: [] },
        mentions: null,
      },
    ]);
  });

  it('are told for each surface by itself', async () => {
    const watchId = await makeWatch();
    const surfaces = ['engine_news', 'engine_search'];
    const runA = await makeRun(watchId, surfaces, [{}, {}]);
    const runB = await makeRun(watchId, surfaces, [{}, { state: 'failed' }]);
    const runC = await makeRun(watchId, surfaces, [{}, {}]);
    const { items } = await changesOf(watchId);
    expect(items.map((item) => [item.runId, item.surface, item.comparedWith.runId])).toEqual([
      [runC.runId, 'engine_news', runB.runId],
      [runC.runId, 'engine_search', runA.runId],
      [runB.runId, 'engine_news', runA.runId],
    ]);
  });

  it('come in pages without gaps or repeats, also where a page ends within a run', async () => {
    const watchId = await makeWatch();
    for (let index = 0; index < 5; index += 1) await makeRun(watchId, ['engine_news', 'engine_search'], [{}, {}]);
    const all = (await changesOf(watchId)).items.map(({ childId }) => childId);
    expect(all).toHaveLength(8);
    for (const limit of [1, 3]) {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const page = await changesOf(watchId, `?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`);
        seen.push(...page.items.map(({ childId }) => childId));
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(all);
    }
  });

  it.each(['changes', 'export?format=csv'])('are not known to another tenant, nor of no watch (%s)', async (path) => {
    const watchId = await makeWatch();
    for (const [asking, id] of [
      [otherKey, watchId],
      [key, newId('watch', 0)],
      [key, 'watch_x'],
    ] as const) {
      const answer = await callApi(api.url, asking, 'GET', `/v1/watches/${id}/${path}`);
      expect(answer).toMatchObject({ status: 404, body: { code: 'WATCH_NOT_FOUND' } });
    }
    const { key: blind } = await openKey(database.db, accountId, 'live', ['jobs:read']);
    expect((await callApi(api.url, blind, 'GET', `/v1/watches/${watchId}/${path}`)).status).toBe(403);
  });

  it.each(['changes?limit=0', 'changes?cursor=x', 'export', 'export?format=xml', 'export?format='])(
    'refuse %s by the name of the field',
    async (path) => {
      const answer = await callApi(api.url, key, 'GET', `/v1/watches/${await makeWatch()}/${path}`);
      expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
      expect(answer.body.error).toMatch(/limit|cursor|format.*csv/);
    },
  );
});

describe('the export of a watch', () => {
  const ROWS = 6_000;
  const TEXT_BYTES = 8_000;
  let watchId: string;

  beforeAll(async () => {
    watchId = await makeWatch();
    const { children } = await makeRun(watchId, ['engine_news'], [{ text: '=HYPERLINK("https://evil.example")' }]);
    // Many more like it, and one run that was skipped.
    await database.db.system.raw(
      `WITH template AS (SELECT c.*, e.envelope, s.query, s.surfaces FROM captures c JOIN envelopes e ON e.capture_id = c.id
                         JOIN searches s ON s.id = c.search_id WHERE c.id = ?),
       n AS (SELECT n, 'job_' || lpad(CAST(n AS text), 26, '0') AS job FROM generate_series(1, ?) n),
       made AS (
         INSERT INTO searches (id, account_id, query, method, surfaces, child_count, completed_count, credits_to_charge)
         SELECT n.job, t.account_id, t.query, 'watch', t.surfaces, 1, 1, 0 FROM n, template t
       ), captured AS (
         INSERT INTO captures (id, search_id, account_id, position, surface, region_key, state, synchronous, expires_at, price,
           credits_held, ended_at)
         SELECT n.job || '.engine_news.GLOBAL', n.job, t.account_id, 0, t.surface, t.region_key, 'completed', false, now(), 0, 0, now()
         FROM n, template t
       ), enveloped AS (
         INSERT INTO envelopes (capture_id, account_id, envelope)
         SELECT n.job || '.engine_news.GLOBAL', t.account_id,
           CAST(jsonb_set(CAST(t.envelope AS jsonb), '{answer,text}', to_jsonb(n.n || repeat(' Grüße', ?))) AS json)
         FROM n, template t
       )
       INSERT INTO watch_runs (id, account_id, watch_id, scheduled_for, status, job_id, detail, created_at)
       SELECT 'wrun_' || lpad(CAST(n.n AS text), 26, '0'), t.account_id, ?, now() - make_interval(hours => n.n),
         'dispatched', n.job, 'Started.', now() - make_interval(mins => n.n)
       FROM n, template t`,
      [children[0] ?? '', ROWS, Math.floor(TEXT_BYTES / 8), watchId],
    );
    await query(
      database.db.system,
      `INSERT INTO watch_runs (id, account_id, watch_id, scheduled_for, status, detail, created_at)
       VALUES (:id, :accountId, :watchId, now() + interval '1 year', 'skipped_credits', 'Too few credits.', now() + interval '1 day')`,
      { id: newId('wrun', Date.now()), accountId, watchId },
    );
  }, 120_000);

  const read = (format: string) => callApi(api.url, key, 'GET', `/v1/watches/${watchId}/export?format=${format}`);

  it('is one line for each capture and each run without one, oldest first', async () => {
    const { status, headers, text } = await read('ndjson');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${watchId}.ndjson"`);
    const lines = text.trimEnd().split('\n').map(readLine);
    expect(lines).toHaveLength(ROWS + 2);
    const times = lines.map(({ run }) => run.createdAt);
    expect(times).toEqual(times.toSorted());
    expect(new Set(lines.map(({ run }) => run.id)).size).toBe(ROWS + 2);
    expect(lines.at(-1)).toMatchObject({ run: { status: 'skipped_credits', jobId: null }, child: null, result: null });
    expect(lines[0]?.result?.answer.text).toMatch(new RegExp(`^${ROWS} Grüße`));
    const single = await callApi(api.url, key, 'GET', `/v1/jobs/${lines.at(-2)?.child?.id ?? ''}`);
    expect(lines.at(-2)?.result).toEqual(single.body);
  }, 120_000);

  it('is a table without formulas', async () => {
    const { headers, text } = await read('csv');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(text.split('\r\n')).toHaveLength(ROWS + 4);
    expect(text).toContain(`"'=HYPERLINK(""https://evil.example"")"`);
  }, 120_000);

  it('is read for the owner that an internal key names', async () => {
    const { key: internal } = await openKey(database.db, await openAccount(database.db), 'internal');
    const path = `/v1/watches/${await makeWatch()}/export?format=csv&owner=${accountId}`;
    const answer = await callApi(api.url, internal, 'GET', path);
    expect({ status: answer.status, owner: answer.headers.get('x-service-owner') }).toEqual({
      status: 200,
      owner: accountId,
    });
    expect((await callApi(api.url, internal, 'HEAD', path)).status).toBe(200);
  });

  it('takes no memory for a client that reads slowly, and ends with a client that leaves', async () => {
    const memoryMb = async (): Promise<number> =>
      Number(await runCommand('ps', ['-o', 'rss=', '-p', String(api.pid)], { timeoutMs: 10_000 })) / 1024;
    const startMb = await memoryMb();
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => openPaused(`${api.url}/v1/watches/${watchId}/export?format=ndjson`)),
    );
    // 60 MB for each of ten clients wait; if they waited in the process, they would be there within this time.
    let most = 0;
    for (let look = 0; look < 10; look += 1) {
      await callApi(api.url, key, 'GET', `/v1/watches/${watchId}/changes?limit=1`);
      most = Math.max(most, await memoryMb());
    }
    expect(most - startMb).toBeLessThan(80);
    for (const leave of clients) leave();
    await until(
      async () => {
        const [row] = await query<{ count: number }>(
          database.db.system,
          `SELECT count(*) AS count FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'scs-api' AND state <> 'idle'`,
        );
        return row?.count === 0;
      },
      { timeoutMs: 20_000, what: 'nothing is read any more' },
    );
    expect(await api.logs()).not.toContain('Request failed');
  }, 120_000);

  type Line = {
    run: { id: string; status: string; jobId: string | null; createdAt: string };
    child: { id: string } | null;
    result: Envelope | null;
  };

  /** That it is what it should be, the assertions tell. */
  function readLine(text: string): Line {
    const line: unknown = JSON.parse(text);
    const isLine = (value: unknown): value is Line => typeof value === 'object' && value !== null && 'run' in value;
    if (!isLine(line)) throw new Error(`no line: ${text}`);
    return line;
  }

  /** Begins to read and takes nothing more; gives back how to leave. */
  function openPaused(url: string): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const asked = openRequest(url, { headers: { authorization: `Bearer ${key}` } }, (response) => {
        response.pause();
        resolve(() => response.destroy());
      });
      asked.once('error', reject).end();
    });
  }
});
