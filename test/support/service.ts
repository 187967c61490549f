import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOpenApi, type Envelope, type EnvelopeJob, type Watch, type WatchRun } from '../../pkg/contract/index.ts';
import { createDemoServer } from '../../pkg/demo/index.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { openAccount, openKey, TEST_PEPPER } from './accounts.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';
import { createOpenApiChecks } from './openapi.ts';
import { openTestProcesses, type TestProcess, type TestProcesses } from './processes.ts';
import { findEmptyRedis } from './redis.ts';

const LANES = fileURLToPath(new URL('../../config/lanes', import.meta.url));
const DEMO_ORIGIN = 'http://127.0.0.1:8090';
export const TEST_KEYRING = `k1:${Buffer.alloc(32, 7).toString('base64')}`;

const openApi = createOpenApiChecks(buildOpenApi('http://service.example'));

export type ServiceOptions = {
  redisUrl?: string;
  /** A database that is there already; a fresh one otherwise. */
  database?: TestDatabase;
  env?: Record<string, string>;
  credits?: number;
  plan?: string;
};

export type TestService = {
  database: TestDatabase;
  processes: TestProcesses;
  api: TestProcess;
  lane: TestProcess;
  dispatcher: TestProcess;
  accountId: string;
  key: string;
  /** Another lane process with the same lanes. */
  startLane(): Promise<TestProcess>;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  close(): Promise<void>;
};

/** Every field that some answer has, as a client reads them: which of them are there is what tests assert. */
export type AnswerBody = Omit<Envelope, 'job'> & {
  jobId: string;
  status: string;
  job: Omit<EnvelopeJob, 'status'> & { status: string; children: string[] };
  children: { id: string; status: string; region: string }[];
  results: Envelope[];
  items: { status: string; jobId: string; id: string }[];
  watch: Watch;
  runs: WatchRun[];
  nextCursor: string | null;
  bindings: Record<string, boolean>;
  owner: string;
  html: string;
  code: string;
  error: string;
  request_id: string;
};

export type Answer = { status: number; headers: Headers; body: AnswerBody; text: string };

/** The whole service as its real processes, on a database and a Redis of its own, with the demo engines. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const undo: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.reverse()) await step();
  };
  try {
    const database = options.database ?? (await openTestDatabase());
    if (options.database === undefined) undo.push(() => database.close());
    const demo = await createDemoServer({ host: '127.0.0.1', port: await findFreePort() });
    undo.push(() => demo.close());
    const lanesDir = await copyLanes(demo.url);
    undo.push(() => rm(lanesDir, { recursive: true, force: true }));

    const processes = await openTestProcesses({
      DATABASE_URL: database.url,
      REDIS_URL: options.redisUrl ?? (await findEmptyRedis()),
      API_KEY_PEPPER: TEST_PEPPER,
      SECRETS_KEYRING: TEST_KEYRING,
      LANES_DIR: lanesDir,
      LOG_LEVEL: 'info',
      ...options.env,
    });
    undo.push(() => processes.close());
    const accountId = await openAccount(database.db, {
      credits: options.credits ?? 5_000,
      plan: options.plan ?? 'pro',
    });
    const { key } = await openKey(database.db, accountId);
    const startLane = () => processes.start('lane');
    const [api, dispatcher, lane] = await Promise.all([
      processes.start('api'),
      processes.start('dispatcher'),
      startLane(),
    ]);
    const call: TestService['call'] = (method, path, body, headers) =>
      callApi(api.url, key, method, path, body, headers);
    return { database, processes, api, dispatcher, lane, accountId, key, startLane, call, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * One request, with a deadline longer than any synchronous wait of a test. Whatever the test looks at, the response
 * must be one that the OpenAPI document describes.
 */
export async function callApi(
  url: string,
  key: string | null,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(100_000),
  });
  const text = await response.text();
  openApi.checkResponse({ method, path, status: response.status, headers: response.headers, text });
  const parsed: unknown = (response.headers.get('content-type') ?? '').includes('json') ? JSON.parse(text) : {};
  if (!isBody(parsed)) throw new Error(`${path} answered something that is no object: ${text.slice(0, 200)}`);
  return { status: response.status, headers: response.headers, body: parsed, text };
}

function isBody(value: unknown): value is AnswerBody {
  return typeof value === 'object' && value !== null;
}

/** The demo's lanes, pointed at where the demo runs now. */
async function copyLanes(demoUrl: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-lanes-'));
  await mkdir(dir, { recursive: true });
  for (const file of (await readdir(LANES)).filter((name) => name.endsWith('.yaml'))) {
    const text = await readFile(join(LANES, file), 'utf8');
    // A capture that must end by its deadline is waited for: 20 s are enough to show it.
    const sooner = text.replaceAll('captureSeconds: 60', 'captureSeconds: 20');
    await writeFile(join(dir, file), sooner.replaceAll(DEMO_ORIGIN, demoUrl));
  }
  return dir;
}
