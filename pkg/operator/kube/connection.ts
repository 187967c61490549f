import type { KubeConfig } from '@kubernetes/client-node';
import { Registry } from 'prom-client';
import { request, type Dispatcher } from 'undici';
import { namespaceOf, openCredentials } from './credentials.ts';
import { KubeError, isFailure } from './errors.ts';
import { errorOfAnswer, errorOfSilence } from './answers.ts';
import { countCalls } from './metrics.ts';
import { childSignal, systemTimers, wait } from './time.ts';

export type ConnectionOptions = {
  kubeConfig: KubeConfig;
  /** Shows in the API server's audit log: `search-capture-controller/0.1.0`. */
  userAgent: string;
  /** Calls are counted there. */
  registry?: Registry;
};

export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Without the server's address. */
  path: string;
  query?: Readonly<Record<string, string | undefined>>;
  body?: object;
  contentType?: string;
  signal?: AbortSignal | undefined;
  /** For the whole call, retries included. */
  timeoutMs?: number | undefined;
};

/** The one way to the API server: its connections, credentials, deadlines and retries. */
export type Connection = {
  /** The namespace of the kubeconfig's context, or of the pod we run in. */
  readonly namespace: string;
  /** Resolves to the JSON of the answer; rejects with a KubeError. */
  call(call: Call): Promise<unknown>;
  /** The lines of an answer that goes on until the server, the network or `signal` ends it. */
  lines(call: Call & { signal: AbortSignal }): AsyncIterable<string>;
  /** Like this connection, but each write first asks `mayWrite`; where that is false it rejects with `notLeading`. */
  guardedBy(mayWrite: () => boolean): Connection;
  close(): Promise<void>;
};

const TIMEOUT_MS = 10_000;
const MOST_ATTEMPTS = 4;
const RETRY_MS = 250;

/** Connects lazily: nothing is sent before the first call. Close it last. */
export function connect(options: ConnectionOptions): Connection {
  const { kubeConfig, userAgent, registry = new Registry() } = options;
  const cluster = kubeConfig.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig names no cluster: set its current-context');
  if (cluster.proxyUrl !== undefined) throw new Error('the kubeconfig sets proxy-url, which is not supported');
  const server = cluster.server.replace(/\/$/, '');
  const credentials = openCredentials(kubeConfig);
  const count = countCalls(registry);

  async function send(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { method, path, query, body, contentType } = call;
    const name = `${method} ${path}`;
    let answer: Dispatcher.ResponseData;
    try {
      const { dispatcher, headers } = await credentials.access();
      answer = await request(server + path, {
        dispatcher,
        method,
        signal,
        query: Object.fromEntries(Object.entries(query ?? {}).filter(([, value]) => value !== undefined)),
        body: body === undefined ? null : JSON.stringify(body),
        headers: { ...headers, 'user-agent': userAgent, accept: 'application/json', ...typeOf(body, contentType) },
      });
    } catch (error) {
      count(method, 'none');
      throw errorOfSilence(name, signal.aborted ? signal.reason : error);
    }
    count(method, String(answer.statusCode));
    if (answer.statusCode < 300) return answer;
    if (answer.statusCode === 401) credentials.forget();
    const text = await readText(name, answer);
    throw errorOfAnswer(name, answer.statusCode, text, headerOf(answer, 'retry-after'));
  }

  async function callOnce(call: Call, signal: AbortSignal): Promise<unknown> {
    const answer = await send(call, signal);
    const name = `${call.method} ${call.path}`;
    const text = await readText(name, answer);
    try {
      return JSON.parse(text);
    } catch (error) {
      throw errorOfSilence(name, error);
    }
  }

  /** Again after what costs nothing to repeat: the server said "later", refused an old token, or a read was cut. */
  async function callAgain(call: Call, mayWrite: () => boolean): Promise<unknown> {
    const { timeoutMs = TIMEOUT_MS, method, path } = call;
    const name = `${method} ${path}`;
    const { signal, abort, release } = childSignal(call.signal);
    const cancel = systemTimers.after(timeoutMs, () => abort(new Error(`no answer within ${timeoutMs} ms`)));
    try {
      for (let attempt = 1; ; attempt += 1) {
        if (method !== 'GET' && !mayWrite()) throw notLeading(name);
        try {
          return await callOnce(call, signal);
        } catch (error) {
          if (attempt === MOST_ATTEMPTS || signal.aborted || !isWorthAnother(error, method, attempt)) throw error;
          const retryMs = isFailure(error, 'busy') ? error.retryAfterMs : undefined;
          await wait(retryMs ?? RETRY_MS * 2 ** attempt * Math.random(), signal, systemTimers);
        }
      }
    } finally {
      cancel();
      release();
    }
  }

  async function* lines(call: Call & { signal: AbortSignal }): AsyncGenerator<string> {
    const answer = await send(call, call.signal);
    let rest = '';
    try {
      answer.body.setEncoding('utf8');
      for await (const chunk of answer.body) {
        const parts = (rest + String(chunk)).split('\n');
        rest = parts.pop() ?? '';
        yield* parts;
      }
    } catch (error) {
      throw errorOfSilence(`${call.method} ${call.path}`, call.signal.aborted ? call.signal.reason : error);
    } finally {
      answer.body.destroy();
    }
  }

  const guarded = (mayWrite: () => boolean): Connection => ({
    namespace: namespaceOf(kubeConfig),
    call: (call) => callAgain(call, mayWrite),
    lines,
    guardedBy: (also) => guarded(() => mayWrite() && also()),
    close: () => credentials.close(),
  });
  return guarded(() => true);
}

function isWorthAnother(error: unknown, method: Call['method'], attempt: number): boolean {
  if (isFailure(error, 'busy')) return error.status === 429 || method !== 'POST';
  if (isFailure(error, 'unauthorized')) return attempt === 1;
  return method === 'GET' && attempt === 1 && isFailure(error, 'unreachable');
}

function notLeading(name: string): KubeError {
  return new KubeError(`${name}: not sent, for we lead no more`, { failure: 'notLeading', status: 0 });
}

function typeOf(body: object | undefined, contentType: string | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-type': contentType ?? 'application/json' };
}

function headerOf(answer: Dispatcher.ResponseData, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

async function readText(name: string, answer: Dispatcher.ResponseData): Promise<string> {
  try {
    return await answer.body.text();
  } catch (error) {
    throw errorOfSilence(name, error);
  }
}
