import type { ListedSource } from '../../answer/index.ts';
import { UnusableReply } from '../exchange.ts';
import { isRecord, toAnnotation, toRecords, type Asked, type Dialect, type Finish, type ModelReply } from './reply.ts';

/** Chat completions, as OpenAI, vLLM, LiteLLM, OpenRouter, Perplexity and others speak them. */
export const CHAT: Dialect = {
  path: '/chat/completions',
  body: ({ model, query, search }) => ({
    model,
    stream: true,
    messages: [{ role: 'user', content: query }],
    ...(search === null ? {} : { web_search_options: toOptions(search) }),
  }),
  addEvent: (reply, event) => addCompletion(reply, event, 'delta'),
  addWhole: (reply, answer) => {
    addCompletion(reply, answer, 'message');
    if (reply.finish === null) throw new UnusableReply('The model endpoint sent JSON that is no chat completion.');
  },
};

function toOptions({ country, state, city }: NonNullable<Asked['search']>): object {
  if (country === undefined) return {};
  return { user_location: { type: 'approximate', approximate: { country, region: state, city } } };
}

function addCompletion(reply: ModelReply, chunk: unknown, part: 'delta' | 'message'): void {
  if (!isRecord(chunk) || (chunk['error'] ?? null) !== null)
    throw new UnusableReply('The model endpoint reported an error in its answer.');
  if (typeof chunk['model'] === 'string' && chunk['model'] !== '') reply.label = chunk['model'];
  const listed = readListed(chunk);
  if (listed.length > 0) reply.listed = listed;
  // A chunk with usage figures only has no choice; the first one is the answer, as we ask for one.
  const [choice] = toRecords(chunk['choices']);
  if (choice === undefined) return;
  const said = choice[part];
  if (isRecord(said)) {
    // A refusal is what a person would read as the answer, so it is the answer.
    for (const text of [said['content'], said['refusal']]) reply.text += typeof text === 'string' ? text : '';
    const citations = toRecords(said['annotations']).map((annotation) => annotation['url_citation']);
    reply.annotations.push(...citations.filter(isRecord).flatMap((cited) => toAnnotation(reply.text, cited)));
  }
  if (typeof choice['finish_reason'] === 'string') reply.finish = toFinish(choice['finish_reason']);
}

function toFinish(reason: string): Finish {
  if (reason === 'length' || reason === 'max_tokens') return 'length';
  return reason === 'content_filter' ? 'filter' : 'stop';
}

/** Perplexity names its sources beside the text, each chunk all of them. */
function readListed({ citations, search_results: results }: Record<string, unknown>): ListedSource[] {
  const named = toRecords(results);
  const found =
    named.length > 0 ? named : Array.isArray(citations) ? citations.map((url: unknown) => ({ url, title: '' })) : [];
  return found.flatMap(({ url, title }, index): ListedSource[] => {
    if (typeof url !== 'string') return [];
    return [{ url, title: typeof title === 'string' ? title : '', role: 'reference', ref: String(index + 1) }];
  });
}
