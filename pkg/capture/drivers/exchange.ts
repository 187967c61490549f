import { fetch, type Dispatcher, type Response } from 'undici';
import { pause, type Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { CaptureResult, CaptureTask } from '../outcome.ts';
import { addCountry, ForbiddenAddress, requireAllowedHost, type WaysOut } from './egress.ts';

export type HttpRequest = { method: 'GET' | 'POST'; url: string; headers: Record<string, string>; body?: string };

/** One capture of an endpoint that is no page. */
export type Exchange = {
  task: CaptureTask;
  /** Sends, follows redirects inside the origin, and asks a busy endpoint again while the deadline allows. */
  send: (request: HttpRequest) => Promise<Response>;
  elapsedMs: () => number;
};

export type ExchangeDeps = {
  ways: WaysOut;
  clock: Clock;
  log: Logger;
  /** How messages name the endpoint: `search API`. */
  endpoint: string;
};

/** What came is no answer: the capture ends as `unusable`. */
export class UnusableReply extends Error {
  override readonly name = 'UnusableReply';
}

/** The connection ended before the answer did: the capture ends as `crashed`. */
export class TornReply extends Error {
  override readonly name = 'TornReply';
}

const MAX_REQUESTS = 4;
const MAX_REDIRECTS = 3;
const FIRST_PAUSE_MS = 500;

/**
 * Runs one capture within its deadline, through the proxy of its country where there is one. Never throws: whatever
 * `work` throws becomes an outcome. `atDeadline` gives the outcome of a text that stands there unfinished when the time
 * is over, null where there is none.
 */
export async function runExchange(
  deps: ExchangeDeps,
  task: CaptureTask,
  canceled: AbortSignal,
  work: (exchange: Exchange) => Promise<CaptureResult>,
  atDeadline: () => CaptureResult | null = () => null,
): Promise<CaptureResult> {
  const askedMs = deps.clock.nowMs();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), task.timeoutMs);
  const stop = AbortSignal.any([canceled, late.signal]);
  const leftMs = (): number => askedMs + task.timeoutMs - deps.clock.nowMs();
  let country: string | null = null;
  try {
    const way = await deps.ways.to(task.region?.country);
    country = way.country;
    const result = await work({
      task,
      send: (request) => sendUntilFree(deps, way.dispatcher, request, task.captureId, stop, leftMs),
      elapsedMs: () => deps.clock.nowMs() - askedMs,
    });
    return addCountry(result, country);
  } catch (error) {
    if (canceled.aborted) return { outcome: 'canceled', detail: 'The capture was told to stop.' };
    if (late.signal.aborted) {
      const detail = `The ${deps.endpoint} gave no text within ${task.timeoutMs} ms.`;
      return addCountry(atDeadline() ?? { outcome: 'timeout', detail }, country);
    }
    return explainFailure(deps, task, error, country);
  } finally {
    clearTimeout(timer);
  }
}

async function sendUntilFree(
  { clock, log, endpoint }: ExchangeDeps,
  dispatcher: Dispatcher,
  request: HttpRequest,
  captureId: string,
  stop: AbortSignal,
  leftMs: () => number,
): Promise<Response> {
  for (let count = 1; ; count += 1) {
    const response = await sendOnce(dispatcher, request, stop, endpoint);
    if ((response.status !== 429 && response.status !== 503) || count === MAX_REQUESTS) return response;
    const waitMs = readRetryAfterMs(response.headers.get('retry-after'), clock) ?? FIRST_PAUSE_MS * 2 ** (count - 1);
    if (waitMs >= leftMs()) return response;
    await response.body?.cancel();
    log.info({ captureId, status: response.status, waitMs }, `The ${endpoint} is busy`);
    await pause(waitMs, stop);
  }
}

/** A redirect to another host would carry the key and the question to a place that nobody named. */
async function sendOnce(
  dispatcher: Dispatcher,
  request: HttpRequest,
  stop: AbortSignal,
  endpoint: string,
): Promise<Response> {
  const origin = new URL(request.url).origin;
  let url: URL = new URL(request.url);
  for (let redirects = 0; ; redirects += 1) {
    requireAllowedHost(url);
    const { method, headers, body } = request;
    const init = { method, headers, redirect: 'manual', signal: stop, dispatcher } as const;
    const response = await fetch(url.href, body === undefined ? init : { ...init, body });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    const target = URL.canParse(location, url.href) ? new URL(location, url.href) : null;
    if (target?.origin !== origin) throw new UnusableReply(`The ${endpoint} redirects to another host.`);
    // The other statuses turn a POST into a GET, which would ask without the question.
    if (method === 'POST' && response.status !== 307 && response.status !== 308)
      throw new UnusableReply(`The ${endpoint} redirects a POST with HTTP ${response.status}.`);
    if (redirects === MAX_REDIRECTS)
      throw new UnusableReply(`The ${endpoint} redirects more than ${MAX_REDIRECTS} times.`);
    url = target;
  }
}

/** Seconds or an HTTP date (RFC 9110); null when absent or neither. */
function readRetryAfterMs(header: string | null, clock: Clock): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - clock.nowMs());
}

/** What an error status means. The body is not quoted: endpoints repeat parts of the key in it. */
export async function refuse(endpoint: string, response: Response): Promise<CaptureResult> {
  await response.body?.cancel();
  const detail = `The ${endpoint} answered HTTP ${response.status}.`;
  return { outcome: [401, 403, 429].includes(response.status) ? 'blocked' : 'unusable', detail };
}

/** The body as text, piece by piece. Throws `UnusableReply` beyond `maxBytes`. */
export async function* decodeBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  endpoint: string,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new UnusableReply(`The ${endpoint} sent more than ${maxBytes} bytes.`);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

/** Throws `UnusableReply` for what is no JSON. */
export function parseJson(text: string, endpoint: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UnusableReply(`The ${endpoint} sent text that is no JSON.`, { cause });
  }
}

function explainFailure(
  { endpoint, log }: ExchangeDeps,
  { captureId }: CaptureTask,
  error: unknown,
  country: string | null,
): CaptureResult {
  if (error instanceof UnusableReply) return { outcome: 'unusable', detail: error.message };
  log.warn({ err: error, captureId }, `The exchange with the ${endpoint} failed`);
  if (error instanceof TornReply) return { outcome: 'crashed', detail: error.message };
  const reason = readReason(error);
  if (reason.forbidden) return { outcome: 'unusable', detail: `The ${endpoint} stands where nothing may be asked.` };
  if (UNREACHABLE.includes(reason.code)) {
    const through = country === null ? '' : ` through the proxy of ${country}`;
    return { outcome: 'unusable', detail: `The ${endpoint} can not be reached${through}.` };
  }
  return { outcome: 'crashed', detail: `The connection to the ${endpoint} broke.` };
}

const UNREACHABLE = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  // The country's proxy would not, or could not, open a way to the endpoint.
  'UND_ERR_ABORTED',
  'UND_ERR_PRX_CONN',
];

/** fetch hides why a connection failed in the cause of its error. */
function readReason(error: unknown): { code: string; forbidden: boolean } {
  if (typeof error !== 'object' || error === null) return { code: '', forbidden: false };
  if (error instanceof ForbiddenAddress) return { code: '', forbidden: true };
  if ('code' in error && typeof error.code === 'string') return { code: error.code, forbidden: false };
  return 'cause' in error ? readReason(error.cause) : { code: '', forbidden: false };
}
