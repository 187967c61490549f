import type { UrlAnnotation } from '../answer/index.ts';

/** What a chat completion has said so far. */
export type ModelReply = {
  text: string;
  annotations: UrlAnnotation[];
  /** The model that the endpoint says it used. */
  label: string | null;
  /** Why it stopped, in the endpoint's word; null while it has not. */
  finishReason: string | null;
};

/** The endpoint answered something that is no chat completion. */
export class UnusableReply extends Error {
  override readonly name = 'UnusableReply';
}

/** The connection ended before the answer did. */
export class TornReply extends Error {
  override readonly name = 'TornReply';
}

const MAX_REPLY_BYTES = 8 * 1024 * 1024;

export function emptyReply(): ModelReply {
  return { text: '', annotations: [], label: null, finishReason: null };
}

/**
 * Reads a chat completion into `reply` as it arrives, streamed or whole. `reply` holds what has come even when this
 * throws: `UnusableReply` for anything that is no completion, `TornReply` when the stream just ends, and whatever the
 * body throws when the connection breaks.
 */
export async function readReply(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
  reply: ModelReply,
): Promise<void> {
  if (contentType.startsWith('text/event-stream')) return readEvents(body, reply);
  if (!contentType.startsWith('application/json'))
    throw new UnusableReply('The model endpoint sent neither events nor JSON.');
  let content = '';
  for await (const text of decode(body)) content += text;
  addChunk(reply, parseJson(content), 'message');
  if (reply.finishReason === null) throw new UnusableReply('The model endpoint sent JSON that is no chat completion.');
}

async function readEvents(body: AsyncIterable<Uint8Array>, reply: ModelReply): Promise<void> {
  let pending = '';
  for await (const text of decode(body)) {
    const lines = (pending + text).split(/\r\n|\n/);
    pending = lines.pop() ?? '';
    for (const line of lines) {
      const data = /^data: ?(.*)$/.exec(line)?.[1];
      if (data === undefined) continue;
      if (data === '[DONE]') {
        reply.finishReason ??= 'stop';
        return;
      }
      addChunk(reply, parseJson(data), 'delta');
    }
  }
  // Some endpoints leave [DONE] out; a reason to finish is as good.
  if (reply.finishReason === null) throw new TornReply('The stream of the model ended before its answer did.');
}

async function* decode(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_REPLY_BYTES) throw new UnusableReply(`The model endpoint sent more than ${MAX_REPLY_BYTES} bytes.`);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UnusableReply('The model endpoint sent text that is no JSON.', { cause });
  }
}

function addChunk(reply: ModelReply, chunk: unknown, part: 'delta' | 'message'): void {
  if (!isRecord(chunk) || 'error' in chunk)
    throw new UnusableReply('The model endpoint reported an error in its answer.');
  if (typeof chunk['model'] === 'string' && chunk['model'] !== '') reply.label = chunk['model'];
  const choices: unknown = chunk['choices'];
  // A chunk with usage figures only has no choice; the first one is the answer, as we ask for one.
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (!isRecord(choice)) return;
  const said = choice[part];
  if (isRecord(said)) {
    // A refusal is what a person would read as the answer, so it is the answer.
    for (const field of ['content', 'refusal']) {
      const text = said[field];
      if (typeof text === 'string') reply.text += text;
    }
    if (Array.isArray(said['annotations'])) reply.annotations.push(...said['annotations'].flatMap(readAnnotation));
  }
  if (typeof choice['finish_reason'] === 'string') reply.finishReason = choice['finish_reason'];
}

function readAnnotation(value: unknown): UrlAnnotation[] {
  if (!isRecord(value) || !isRecord(value['url_citation'])) return [];
  const { url, title, start_index: start, end_index: end } = value['url_citation'];
  if (typeof url !== 'string') return [];
  return [
    {
      url,
      title: typeof title === 'string' ? title : '',
      startIndex: typeof start === 'number' ? start : 0,
      endIndex: typeof end === 'number' ? end : 0,
    },
  ];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
