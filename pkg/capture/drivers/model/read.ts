import { createParser } from 'eventsource-parser';
import { decodeBody, parseJson, TornReply, UnusableReply } from '../exchange.ts';
import type { Dialect, ModelReply } from './reply.ts';

export const ENDPOINT = 'model endpoint';
const MAX_REPLY_BYTES = 8 * 1024 * 1024;

/**
 * Reads an answer into `reply` as it arrives, streamed or whole; `onText` is told when its text grew. `reply` holds
 * what has come even when this throws: `UnusableReply` for anything that is no answer, `TornReply` when the stream
 * just ends, and whatever the body throws when the connection breaks.
 */
export async function readReply(
  dialect: Dialect,
  { body, contentType }: { body: AsyncIterable<Uint8Array>; contentType: string },
  reply: ModelReply,
  onText: () => void,
): Promise<void> {
  const pieces = decodeBody(body, MAX_REPLY_BYTES, ENDPOINT);
  if (contentType.startsWith('text/event-stream')) {
    for await (const data of splitEvents(pieces)) {
      if (data === '[DONE]') {
        reply.finish ??= 'stop';
        return;
      }
      const before = reply.text.length;
      dialect.addEvent(reply, parseJson(data, ENDPOINT));
      if (reply.text.length > before) onText();
    }
    // Some endpoints leave [DONE] out; a reason to finish is as good.
    if (reply.finish === null) throw new TornReply('The stream of the model ended before its answer did.');
    return;
  }
  if (!contentType.startsWith('application/json'))
    throw new UnusableReply(`The ${ENDPOINT} sent neither events nor JSON.`);
  let content = '';
  for await (const piece of pieces) content += piece;
  dialect.addWhole(reply, parseJson(content, ENDPOINT));
  if (reply.text !== '') onText();
}

/** The data of each event of a stream. */
async function* splitEvents(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let waiting: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => void waiting.push(data) });
  for await (const piece of pieces) {
    parser.feed(piece);
    const ready = waiting;
    waiting = [];
    yield* ready;
  }
  // An event that nothing but the end of the stream closes: some endpoints forget the empty line behind the last one.
  parser.feed('\n\n');
  yield* waiting;
}
