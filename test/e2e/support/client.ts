import type { Cluster } from './cluster.ts';
import { runBeside } from './tools.ts';

export type Reply = { status: number; body: Record<string, unknown> };
export type LoadReport = { requests: number; searches: string[]; failures: string[] };

/** A pod in a namespace of its own that calls the API by its Service, as a customer's workload would. */
export const CLIENT_POD = 'client';

export function clientManifest(image: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: CLIENT_POD },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'client',
          image,
          args: ['--eval', 'setInterval(() => undefined, 60_000)'],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        },
      ],
      volumes: [{ name: 'tmp', emptyDir: {} }],
    },
  });
}

export type Client = {
  call(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Submits searches at once and asynchronously; resolves to the ids of their jobs. */
  submit(surface: string, queries: readonly string[]): Promise<string[]>;
  /** Waits until each job has ended; resolves to their states. */
  settle(jobIds: readonly string[], timeoutMs: number): Promise<string[]>;
  /** Calls the API in many ways until told to stop. */
  startLoad(surface: string): { stop(): Promise<LoadReport> };
};

const COMMON = `
const [base, key, given] = process.argv.slice(2);
const input = JSON.parse(given);
const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
const call = async (method, path, body) => {
  const response = await fetch(base + path, { method, headers, signal: AbortSignal.timeout(100_000),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  return { status: response.status, body: await response.json() };
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
`;

const CALL = `${COMMON}
console.log(JSON.stringify(await call(input.method, input.path, input.body)));
`;

const SUBMIT = `${COMMON}
const items = input.queries.map((query) => ({ query, surfaces: [input.surface] }));
const { status, body } = await call('POST', '/v1/search/batch', { items });
if (status !== 200 || body.items.some(({ jobId }) => !jobId)) throw new Error(JSON.stringify(body));
console.log(JSON.stringify(body.items.map(({ jobId }) => jobId)));
`;

const SETTLE = `${COMMON}
const untilMs = Date.now() + input.timeoutMs;
const states = await Promise.all(input.jobIds.map(async (id) => {
  for (;;) {
    const { body } = await call('GET', '/v1/jobs/' + id).catch((error) => ({ body: { job: { status: String(error) } } }));
    const state = body.job?.status ?? body.code;
    if (['completed', 'partial', 'failed', 'canceled', 'expired'].includes(state) || Date.now() > untilMs) return state;
    await pause(500);
  }
}));
console.log(JSON.stringify(states));
`;

// Keep-alive connections and fresh ones, reads, asynchronous submits and synchronous searches, all at once.
const LOAD = `${COMMON}
import { existsSync, rmSync } from 'node:fs';
import http from 'node:http';
const failures = [], searches = [];
let requests = 0;
const over = () => existsSync('/tmp/stop');
const note = (what, status) => { requests += 1; if (status >= 500 || status === 0) failures.push(new Date().toISOString() + ' ' + what + ' ' + status); };
const work = async (what, turn) => {
  while (!over()) {
    try { note(what, await turn()); } catch (error) { requests += 1; failures.push(new Date().toISOString() + ' ' + what + ' ' + error + ' ' + (error.cause?.code ?? '')); }
    await pause(20);
  }
};
const fresh = () => new Promise((resolve, reject) => {
  const request = http.get(base + '/v1/surfaces', { agent: false, headers: { connection: 'close' } }, (response) => {
    response.resume(); response.on('end', () => resolve(response.statusCode)); response.on('error', reject);
  });
  request.setTimeout(20_000, () => request.destroy(new Error('timeout')));
  request.on('error', reject);
});
await Promise.all([
  work('reading', async () => (await call('GET', '/v1/jobs?limit=5')).status),
  work('reading on a fresh connection', fresh),
  work('submitting', async () => {
    const { status, body } = await call('POST', '/v1/search?mode=async', { query: 'load ' + requests, surfaces: [input.surface] });
    if (body.jobId) searches.push(body.jobId);
    await pause(1_000);
    return status;
  }),
  ...[1, 2].map(() => work('a synchronous search', async () => (await call('POST', '/v1/search', { query: 'load [[slow:1500]] ' + requests, surfaces: [input.surface] })).status)),
]);
rmSync('/tmp/stop', { force: true });
console.log(JSON.stringify({ requests, searches, failures }));
`;

export function openClient(cluster: Cluster, namespace: string, baseUrl: string, key: string): Client {
  const script = async (text: string, input: object): Promise<unknown> => {
    const { ok, stdout, stderr } = await cluster.script(CLIENT_POD, text, [baseUrl, key, JSON.stringify(input)]);
    if (!ok) throw new Error(stderr.slice(-1_000));
    return JSON.parse(stdout);
  };
  return {
    call: async (method, path, body) => asReply(await script(CALL, { method, path, body })),
    submit: async (surface, queries) => asTexts(await script(SUBMIT, { surface, queries })),
    settle: async (jobIds, timeoutMs) => asTexts(await script(SETTLE, { jobIds, timeoutMs })),
    startLoad: (surface) => {
      const node = ['node', '--input-type=module', '-', baseUrl, key, JSON.stringify({ surface })];
      const load = runBeside('kubectl', ['--namespace', namespace, 'exec', '-i', CLIENT_POD, '--', ...node], LOAD);
      return {
        stop: async () => {
          await cluster.kubectl(['exec', CLIENT_POD, '--', 'touch', '/tmp/stop']);
          return asReport(JSON.parse(await load.ended));
        },
      };
    },
  };
}

function asReply(value: unknown): Reply {
  if (isRecord(value) && typeof value['status'] === 'number' && isRecord(value['body']))
    return { status: value['status'], body: value['body'] };
  throw new Error('the client printed no reply');
}

function asTexts(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String);
  throw new Error('the client printed no list');
}

function asReport(value: unknown): LoadReport {
  if (!isRecord(value)) throw new Error('the client printed no report');
  return {
    requests: Number(value['requests']),
    searches: asTexts(value['searches']),
    failures: asTexts(value['failures']),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
