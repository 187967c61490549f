import type { Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Region } from '../../contract/index.ts';
import type { Driver } from '../driver.ts';
import type { CaptureResult, CaptureTask } from '../outcome.ts';
import { openWaysOut } from './egress.ts';
import { decodeBody, parseJson, refuse, runExchange, UnusableReply, type Exchange } from './exchange.ts';
import type { HttpProfile } from './http/profile.ts';
import { createReplyReader, type Reply, type ReplyReader } from './http/reply.ts';
import { buildRequest } from './http/request.ts';

export type HttpSettings = {
  profile: HttpProfile;
  /** The value of `profile.go.secret`; null where the profile has none. */
  apiKey: string | null;
  /** Proxies by country, as URLs with their credentials. Default: none. */
  proxies?: ReadonlyMap<string, string>;
  clock: Clock;
  log: Logger;
};

const ENDPOINT = 'search API';
const MAX_REPLY_BYTES = 8 * 1024 * 1024;

/** Asks a JSON search API with one request, told by a profile what to send and where the answer stands. */
export function createHttpDriver({ profile, apiKey, proxies = new Map(), clock, log }: HttpSettings): Driver {
  const ways = openWaysOut(profile.go.url, proxies, log);
  const readReply = createReplyReader(profile);
  return {
    capture: (task, signal) =>
      runExchange({ ways, clock, log, endpoint: ENDPOINT }, task, signal, (exchange) =>
        ask(profile, apiKey, readReply, exchange),
      ),
    close: () => ways.close(),
  };
}

async function ask(
  profile: HttpProfile,
  apiKey: string | null,
  readReply: ReplyReader,
  exchange: Exchange,
): Promise<CaptureResult> {
  const { task, elapsedMs, send } = exchange;
  const request = buildRequest(profile.go, { query: task.query, ...task.region }, apiKey);
  const response = await send(request);
  if (!response.ok) return refuse(ENDPOINT, response);
  if (response.body === null) throw new UnusableReply(`The ${ENDPOINT} sent no body.`);
  let content = '';
  for await (const text of decodeBody(response.body, MAX_REPLY_BYTES, ENDPOINT)) content += text;
  const signals = [{ name: 'answered', atMs: elapsedMs() }];
  const reply = readReply(parseJson(content, ENDPOINT), profile.go.url.replace(/\{\w+\}/g, ''));
  return toResult(profile, task, reply, signals);
}

function toResult(
  profile: HttpProfile,
  task: CaptureTask,
  reply: Reply,
  signals: { name: string; atMs: number }[],
): CaptureResult {
  switch (reply.kind) {
    case 'blocked':
      return { outcome: 'blocked', detail: `The ${ENDPOINT} refused: classify.blocked holds.` };
    case 'error':
      return { outcome: 'unusable', detail: `The ${ENDPOINT} failed: classify.error holds.` };
    case 'absent':
      return { outcome: 'absent', effectiveRegion: findEffectiveRegion(profile, task), proofHtml: null };
    case 'page':
      break;
  }
  const { reading, fanOut, modelLabel, webSearch } = reply;
  if (reading.answer.text === '') return { outcome: 'empty', detail: `The ${ENDPOINT} answered without text.` };
  const label = modelLabel ?? profile.model?.label ?? null;
  return {
    outcome: 'completed',
    answer: reading.answer,
    evidence: {
      sources: reading.sources,
      fanOut: { provenance: profile.read.fanOut === undefined ? 'none' : 'observed', queries: fanOut },
    },
    model: {
      providerId: profile.model?.providerId ?? null,
      observedLabel: label,
      inferred: label !== null && modelLabel === null,
      confidence: label === null ? null : modelLabel === null ? 0.5 : 1,
    },
    webSearch,
    effectiveRegion: findEffectiveRegion(profile, task),
    proofHtml: null,
    signals,
  };
}

/** Only what the profile says that its request applies, and only where the search named it. */
function findEffectiveRegion({ go }: HttpProfile, { region }: CaptureTask): Partial<Region> | null {
  const effective: Partial<Region> = {};
  for (const field of go.applies) {
    const value = region?.[field];
    if (value !== undefined) effective[field] = value;
  }
  return Object.keys(effective).length === 0 ? null : effective;
}
