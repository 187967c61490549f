import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { query } from '../../pkg/postgres/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { startService } from '../support/service.ts';
import { median, percentile, type Row } from './table.ts';

const SECONDS = 8;
const CLIENTS = 16;
const BATCH = 500;
const BODY = { query: 'which bicycle is best?', surfaces: ['engine_news'] };

/** Its ceilings are counted as those of any plan are, and met by no machine. */
const PLAN = `id: bench
submitsPerMinute: 100000000
syncInFlight: 1000
queuedChildren: 100000000
activeWatches: 1
minWatchIntervalMinutes: 15
`;

/** Submits and reads over HTTP, against those of a bare handler on the same Postgres. */
export async function benchSubmit(): Promise<Row[]> {
  const plansDir = await mkdtemp(join(tmpdir(), 'search-capture-bench-'));
  await writeFile(join(plansDir, 'bench.yaml'), PLAN);
  const env = { DATABASE_POOL_SIZE: '10', PLANS_DIR: plansDir };
  const service = await startService({ credits: 100_000_000, plan: 'bench', env });
  try {
    await service.lane.stop();
    const accounts = await Promise.all(
      Array.from({ length: CLIENTS }, () => openAccount(service.database.db, { credits: 10_000_000, plan: 'bench' })),
    );
    const keys = await Promise.all(accounts.map((id) => openKey(service.database.db, id, 'internal')));
    const keyOf = (client: number) => keys[client % keys.length]?.key ?? '';
    const bare = await startBare(service.database.url);
    try {
      const url = service.api.url;
      const post = (path: string, body: unknown, key: string) => call(url, path, key, body);
      const submit = (key: string) => post('/v1/search?mode=async', BODY, key);
      const apart = { work: (client: number) => submit(keyOf(client)) };
      const together = { work: () => submit(service.key) };
      const bareInsert = { work: () => call(bare.url, '/', '', BODY) };
      for (const { work } of [apart, together, bareInsert]) await load(1, work);
      const items = Array.from({ length: BATCH }, () => BODY);
      const batches = { work: (client: number) => post('/v1/search/batch', { items }, keyOf(client)), clients: 2 };
      const [ours, oursTogether, theirs, batch] = await inTurns([apart, together, bareInsert, batches]);

      const [row] = await query<{ id: string; accountId: string }>(
        service.database.db.system,
        `SELECT id, account_id AS "accountId" FROM captures LIMIT 1`,
      );
      const reader = await openKey(service.database.db, row?.accountId ?? '', 'internal');
      const [read, bareRead] = await inTurns([
        { work: () => call(url, `/v1/jobs/${row?.id ?? ''}`, reader.key) },
        { work: () => call(bare.url, `/${row?.id ?? ''}`, '') },
      ]);
      return [
        {
          name: `async submits per second of ${CLIENTS} accounts, ours / bare insert handler`,
          ours: ours.perSecond,
          bare: theirs.perSecond,
          unit: '/s',
          atLeast: 0.5,
        },
        {
          name: 'async submits per second of one account, ours / bare insert handler',
          ours: oursTogether.perSecond,
          bare: theirs.perSecond,
          unit: '/s',
          atLeast: 0.5,
        },
        {
          name: 'batch items per second / single submits per second',
          ours: batch.perSecond * BATCH,
          bare: ours.perSecond,
          unit: '/s',
          atLeast: 10,
        },
        {
          name: 'p99 of GET child, ours / bare primary-key read',
          ours: percentile(read.timesMs, 99),
          bare: percentile(bareRead.timesMs, 99),
          unit: 'ms',
          atMost: 2,
        },
      ];
    } finally {
      await bare.close();
    }
  } finally {
    await service.close();
    await rm(plansDir, { recursive: true, force: true });
  }
}

async function startBare(databaseUrl: string): Promise<{ url: string; close(): Promise<void> }> {
  const child = fork(fileURLToPath(new URL('bare-handler.ts', import.meta.url)), {
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
  const ended = once(child, 'exit');
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  const message: unknown = (await once(child, 'message', { signal: AbortSignal.timeout(20_000) }))[0];
  if (typeof message === 'object' && message !== null && 'port' in message)
    return { url: `http://127.0.0.1:${String(message.port)}`, close };
  await close();
  throw new Error('the bare handler did not say its port');
}

async function call(base: string, path: string, key: string, body?: unknown): Promise<void> {
  const response = await fetch(`${base}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 200)}`);
}

type Contestant = { work: (client: number) => Promise<void>; clients?: number };
type Load = { perSecond: number; timesMs: number[] };

/** Second by second in turns: whatever else the machine does then falls on all of them alike. */
async function inTurns<const C extends readonly Contestant[]>(contestants: C): Promise<{ [K in keyof C]: Load }>;
async function inTurns(contestants: readonly Contestant[]): Promise<Load[]> {
  const turns: Load[][] = contestants.map(() => []);
  for (let turn = 0; turn < SECONDS; turn += 1) {
    for (const [index, { work, clients }] of contestants.entries()) turns[index]?.push(await load(1, work, clients));
  }
  return turns.map((loads) => ({
    perSecond: median(loads.map(({ perSecond }) => perSecond)),
    timesMs: loads.flatMap(({ timesMs }) => timesMs),
  }));
}

async function load(seconds: number, work: (client: number) => Promise<void>, clients = CLIENTS): Promise<Load> {
  const timesMs: number[] = [];
  const startMs = performance.now();
  const untilMs = startMs + seconds * 1000;
  const run = async (client: number): Promise<void> => {
    while (performance.now() < untilMs) {
      const oneMs = performance.now();
      await work(client);
      timesMs.push(performance.now() - oneMs);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  return { perSecond: timesMs.length / ((performance.now() - startMs) / 1000), timesMs };
}
