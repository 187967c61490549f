import { json, type Express, type Response } from 'express';
import { makeContent, type Content } from '../content.ts';
import { readDirectives, type Directives } from '../directives.ts';
import { trackUrl } from '../links.ts';
import { waitForFirstText, writeInTicks } from '../pace.ts';
import { groupInTicks } from '../pieces.ts';
import { writeMarkdown, type MarkdownAnswer } from '../markdown.ts';

const TICKS = 30;
const TICK_MS = 10;
const MODEL = 'demo-two-2026-05-01';

/**
 * An OpenAI-compatible model with web citations. `[[blocked]]` is HTTP 403, `[[crash]]` a connection that breaks,
 * `[[absent]]` is the same as `[[empty]]`: a model always answers, if only with nothing. `[[consent]]` and `[[edit]]`
 * mean nothing here.
 */
export function mountAssistantTwo(app: Express): void {
  app.post('/v1/chat/completions', json({ limit: '1mb' }), async (request, response) => {
    const body: unknown = request.body;
    const question = readQuestion(body);
    if (question === null) {
      sendError(response, 400, 'messages must end with a message of role user');
      return;
    }
    const directives = readDirectives(question);
    if (directives.blocked) {
      sendError(response, 403, 'This client is not allowed to use the model');
      return;
    }
    if (directives.status !== null && directives.status !== 200) {
      sendError(response, directives.status, 'The demo was asked for this');
      return;
    }
    const answer = makeAnswer(directives);
    await waitForFirstText(response, directives, 60);
    if (isRecord(body) && body['stream'] === true) return streamAnswer(response, answer, directives);
    if (directives.crash) response.destroy();
    else if (!directives.stall) response.json(toCompletion(answer));
  });
}

function makeAnswer(directives: Directives): MarkdownAnswer {
  if (directives.empty || directives.absent) return { text: '', citations: [] };
  const content: Content = makeContent(directives);
  return writeMarkdown(content, trackUrl);
}

async function streamAnswer(response: Response, answer: MarkdownAnswer, directives: Directives): Promise<void> {
  response.type('text/event-stream');
  response.write(toChunk({ role: 'assistant', content: '' }, null));
  const groups = groupInTicks(answer.text.match(/\s*\S+/g) ?? [], TICKS).map((words) => words.join(''));
  const chunks = groups.map((content) => toChunk({ content }, null));
  const complete = await writeInTicks(
    response,
    chunks,
    { ...directives, stall: directives.stall || directives.crash },
    TICK_MS,
  );
  if (directives.crash) response.destroy();
  if (!complete) return;
  if (answer.citations.length > 0) response.write(toChunk({ annotations: answer.citations }, null));
  response.write(toChunk({}, 'stop'));
  response.end('data: [DONE]\n\n');
}

function toChunk(delta: object, finishReason: 'stop' | null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return `data: ${JSON.stringify({ id: 'chatcmpl-demo', object: 'chat.completion.chunk', created: 0, model: MODEL, choices })}\n\n`;
}

function toCompletion({ text, citations }: MarkdownAnswer): object {
  const message = { role: 'assistant', content: text, annotations: citations };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  return { id: 'chatcmpl-demo', object: 'chat.completion', created: 0, model: MODEL, choices };
}

function sendError(response: Response, status: number, message: string): void {
  if (status === 429 || status === 503) response.set('retry-after', '1');
  response.status(status).json({ error: { message, type: 'demo_error', code: status } });
}

/** The text of the last message, given as a string or as text parts; null when it is not the user's. */
function readQuestion(body: unknown): string | null {
  if (!isRecord(body) || !Array.isArray(body['messages'])) return null;
  const last: unknown = body['messages'].at(-1);
  if (!isRecord(last) || last['role'] !== 'user') return null;
  const { content } = last;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  return content
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
