import type { Region } from '../../contract/index.ts';
import type { Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { readMarkdown, type LinkRules } from '../answer/index.ts';
import type { Driver } from '../driver.ts';
import type { CapturedPage, CaptureResult, CaptureTask, ReadinessSignal } from '../outcome.ts';
import { openWaysOut } from './egress.ts';
import { refuse, runExchange, UnusableReply, type Exchange, type HttpRequest } from './exchange.ts';
import { CHAT } from './model/chat.ts';
import { ENDPOINT, readReply } from './model/read.ts';
import { emptyReply, type Asked, type Dialect, type ModelReply } from './model/reply.ts';
import { RESPONSES } from './model/responses.ts';

export const MODEL_APIS = ['chat', 'responses'] as const;

export type ModelSettings = {
  /** Base of the API, `/v1` included: `https://models.example/v1`. */
  endpoint: string;
  model: string;
  api: (typeof MODEL_APIS)[number];
  /** Ask for a search of the web, near the region's country and city. */
  webSearch: boolean;
  links?: LinkRules | undefined;
  apiKey?: string | null;
  providerId: string;
  /** Proxies by country, as URLs with their credentials. Default: none. */
  proxies?: ReadonlyMap<string, string>;
  clock: Clock;
  log: Logger;
};

const DIALECTS: Record<ModelSettings['api'], Dialect> = { chat: CHAT, responses: RESPONSES };

/**
 * Asks any OpenAI-compatible endpoint and reads the answer as it streams. The query is sent as it is, with nothing
 * around it; a region is applied to the web search, and its country's proxy is the way there.
 */
export function createModelDriver(settings: ModelSettings): Driver {
  const { clock, log } = settings;
  const ways = openWaysOut(settings.endpoint, settings.proxies ?? new Map<string, string>(), log);
  return {
    capture: (task, signal) => {
      const reply = emptyReply();
      const signals: ReadinessSignal[] = [];
      const describe = (): CapturedPage => toPage(settings, task, reply, signals);
      return runExchange(
        { ways, clock, log, endpoint: ENDPOINT },
        task,
        signal,
        (exchange) => ask(settings, exchange, reply, signals, describe),
        () => (reply.text.trim() === '' ? null : { outcome: 'partial', ...describe() }),
      );
    },
    close: () => ways.close(),
  };
}

async function ask(
  settings: ModelSettings,
  { task, send, elapsedMs }: Exchange,
  reply: ModelReply,
  signals: ReadinessSignal[],
  describe: () => CapturedPage,
): Promise<CaptureResult> {
  const response = await send(buildRequest(settings, task));
  if (!response.ok) return refuse(ENDPOINT, response);
  if (response.body === null) throw new UnusableReply(`The ${ENDPOINT} sent no body.`);
  const contentType = response.headers.get('content-type') ?? '';
  await readReply(DIALECTS[settings.api], { body: response.body, contentType }, reply, () => {
    if (signals.length === 0) signals.push({ name: 'first text', atMs: elapsedMs() });
  });
  if (reply.finish === 'filter')
    return { outcome: 'blocked', detail: "The endpoint's content filter ended the answer." };
  if (reply.text.trim() === '') return { outcome: 'empty', detail: 'The model finished without text.' };
  signals.push({ name: `finished: ${reply.finish ?? 'unknown'}`, atMs: elapsedMs() });
  // Cut at the token limit, the text stands there unfinished, as at a deadline.
  return { outcome: reply.finish === 'length' ? 'partial' : 'completed', ...describe() };
}

function buildRequest({ endpoint, model, api, webSearch, apiKey }: ModelSettings, task: CaptureTask): HttpRequest {
  const dialect = DIALECTS[api];
  const search: Asked['search'] = webSearch ? (task.region ?? {}) : null;
  return {
    method: 'POST',
    url: `${endpoint.replace(/\/+$/, '')}${dialect.path}`,
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      ...(typeof apiKey === 'string' && apiKey !== '' ? { authorization: `Bearer ${apiKey}` } : {}),
    },
    body: JSON.stringify(dialect.body({ model, query: task.query, search })),
  };
}

function toPage(
  settings: ModelSettings,
  task: CaptureTask,
  reply: ModelReply,
  signals: ReadinessSignal[],
): CapturedPage {
  const { text, annotations, listed, label, queries } = reply;
  const { answer, sources } = readMarkdown({
    markdown: text,
    annotations,
    listed,
    markers: true,
    formulas: true,
    links: settings.links,
  });
  return {
    answer,
    evidence: { sources, fanOut: { provenance: queries.length > 0 ? 'observed' : 'none', queries } },
    model: {
      providerId: settings.providerId,
      observedLabel: label,
      inferred: false,
      confidence: label === null ? null : 1,
    },
    webSearch: findWebSearch(settings, reply),
    effectiveRegion: settings.webSearch ? findSearchRegion(task.region) : null,
    proofHtml: null,
    signals,
  };
}

/**
 * Citations prove a web search. Their absence proves nothing, unless the endpoint tells of its searches and was offered
 * to make one.
 */
function findWebSearch({ webSearch }: ModelSettings, { annotations, listed, searched }: ModelReply): boolean | null {
  if (annotations.length > 0 || listed.length > 0 || searched === true) return true;
  return webSearch ? searched : null;
}

/** Only the search of the web knows a place, and it knows no language. */
function findSearchRegion(region: Region | null): Partial<Region> | null {
  if (region === null) return null;
  const { language: _, ...place } = region;
  return place;
}
