import { Agent, fetch, type Response } from 'undici';
import { pause, type Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { readMarkdown } from '../answer/index.ts';
import type { Driver } from '../driver.ts';
import type { CapturedPage, CaptureResult, CaptureTask, ReadinessSignal } from '../outcome.ts';
import { emptyReply, readReply, TornReply, UnusableReply, type ModelReply } from './model-reply.ts';

export type ModelSettings = {
  /** Base of the API, `/v1` included: `https://models.example/v1`. */
  endpoint: string;
  model: string;
  apiKey?: string | null;
  providerId: string;
  clock: Clock;
  log: Logger;
};

const MAX_REQUESTS = 4;
const FIRST_PAUSE_MS = 500;

/**
 * Asks any OpenAI-compatible endpoint by a streamed chat completion. The query is sent as it is, with nothing around
 * it, so no region is ever applied. A busy endpoint (429, 503) is asked again, as it says itself, while the deadline
 * allows.
 */
export function createModelDriver(settings: ModelSettings): Driver {
  const agent = new Agent({ connect: { timeout: 10_000 } });
  return {
    capture: async (task, signal) => {
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), task.timeoutMs);
      const attempt: Attempt = {
        task,
        reply: emptyReply(),
        signals: [],
        askedMs: settings.clock.nowMs(),
        canceled: signal,
        late: deadline.signal,
        stop: AbortSignal.any([signal, deadline.signal]),
      };
      try {
        return await ask(settings, agent, attempt);
      } catch (error) {
        return explain(settings, attempt, error);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => agent.destroy(),
  };
}

type Attempt = {
  task: CaptureTask;
  reply: ModelReply;
  signals: ReadinessSignal[];
  askedMs: number;
  canceled: AbortSignal;
  late: AbortSignal;
  stop: AbortSignal;
};

async function ask(settings: ModelSettings, agent: Agent, attempt: Attempt): Promise<CaptureResult> {
  const response = await send(settings, agent, attempt);
  if (!response.ok) return refuse(response);
  if (response.body === null) throw new UnusableReply('The model endpoint sent no body.');
  await readReply(watch(response.body, settings, attempt), response.headers.get('content-type') ?? '', attempt.reply);
  return conclude(settings, attempt);
}

/** Sends the question until the endpoint is not busy, or waiting longer would miss the deadline. */
async function send(settings: ModelSettings, agent: Agent, attempt: Attempt): Promise<Response> {
  const { task, askedMs, stop } = attempt;
  const url = `${settings.endpoint.replace(/\/+$/, '')}/chat/completions`;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
  };
  if (typeof settings.apiKey === 'string' && settings.apiKey !== '')
    headers['authorization'] = `Bearer ${settings.apiKey}`;
  const body = JSON.stringify({
    model: settings.model,
    stream: true,
    messages: [{ role: 'user', content: task.query }],
  });
  for (let request = 1; ; request += 1) {
    // A redirect would carry the key to a host that nobody named.
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: stop,
      dispatcher: agent,
    });
    if ((response.status !== 429 && response.status !== 503) || request === MAX_REQUESTS) return response;
    const waitMs =
      readRetryAfterMs(response.headers.get('retry-after'), settings.clock) ?? FIRST_PAUSE_MS * 2 ** (request - 1);
    if (settings.clock.nowMs() + waitMs >= askedMs + task.timeoutMs) return response;
    await response.body?.cancel();
    settings.log.info({ captureId: task.captureId, status: response.status, waitMs }, 'The model endpoint is busy');
    await pause(waitMs, stop);
  }
}

/** Seconds or an HTTP date (RFC 9110); null when absent or neither. */
function readRetryAfterMs(header: string | null, clock: Clock): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - clock.nowMs());
}

/** Passes the bytes on, and notes when the first ones of the answer came. */
async function* watch(
  body: AsyncIterable<Uint8Array>,
  settings: ModelSettings,
  attempt: Attempt,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    yield chunk;
    if (attempt.reply.text !== '' && attempt.signals.length === 0) note(settings, attempt, 'first text');
  }
}

function note(settings: ModelSettings, attempt: Attempt, name: string): void {
  attempt.signals.push({ name, atMs: settings.clock.nowMs() - attempt.askedMs });
}

async function refuse(response: Response): Promise<CaptureResult> {
  await response.body?.cancel();
  // The body is not quoted: endpoints repeat parts of the key in it.
  const detail = `The model endpoint answered HTTP ${response.status}.`;
  return { outcome: [401, 403, 429].includes(response.status) ? 'blocked' : 'unusable', detail };
}

function conclude(settings: ModelSettings, attempt: Attempt): CaptureResult {
  const { reply } = attempt;
  if (reply.finishReason === 'content_filter') {
    return { outcome: 'blocked', detail: "The endpoint's content filter ended the answer." };
  }
  if (reply.text.trim() === '') return { outcome: 'empty', detail: 'The model finished without text.' };
  note(settings, attempt, `finished: ${reply.finishReason ?? 'unknown'}`);
  // Cut at the token limit, the text stands there unfinished, as at a deadline.
  return { outcome: reply.finishReason === 'length' ? 'partial' : 'completed', ...describe(settings, attempt) };
}

function explain(settings: ModelSettings, attempt: Attempt, error: unknown): CaptureResult {
  const { canceled, late, reply, task } = attempt;
  if (canceled.aborted) return { outcome: 'canceled', detail: 'The capture was told to stop.' };
  if (late.aborted) {
    if (reply.text.trim() !== '') return { outcome: 'partial', ...describe(settings, attempt) };
    return { outcome: 'timeout', detail: `The model gave no text within ${task.timeoutMs} ms.` };
  }
  if (error instanceof UnusableReply) return { outcome: 'unusable', detail: error.message };
  settings.log.warn({ err: error, captureId: task.captureId }, 'The connection to the model failed');
  if (error instanceof TornReply) return { outcome: 'crashed', detail: error.message };
  if (UNREACHABLE.includes(readErrorCode(error)))
    return { outcome: 'unusable', detail: 'The model endpoint can not be reached.' };
  return { outcome: 'crashed', detail: 'The connection to the model endpoint broke.' };
}

const UNREACHABLE = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

/** fetch hides why a connection failed in the cause of its error. */
function readErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'cause' in error ? readErrorCode(error.cause) : '';
}

function describe(settings: ModelSettings, { reply, signals }: Attempt): CapturedPage {
  const { answer, sources } = readMarkdown({ markdown: reply.text, annotations: reply.annotations });
  return {
    answer,
    evidence: { sources, fanOut: { provenance: 'none', queries: [] } },
    model: {
      providerId: settings.providerId,
      observedLabel: reply.label,
      inferred: false,
      confidence: reply.label === null ? null : 1,
    },
    // Citations prove a web search; their absence proves nothing.
    webSearch: reply.annotations.length > 0 ? true : null,
    effectiveRegion: null,
    proofHtml: null,
    signals,
  };
}
