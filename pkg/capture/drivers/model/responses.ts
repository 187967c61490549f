import { UnusableReply } from '../exchange.ts';
import { isRecord, toAnnotation, toRecords, type Asked, type Dialect, type ModelReply } from './reply.ts';

/** OpenAI's Responses API. */
export const RESPONSES: Dialect = {
  path: '/responses',
  body: ({ model, query, search }) => ({
    model,
    stream: true,
    // Nothing is asked after it, so the endpoint need not keep it.
    store: false,
    input: query,
    ...(search === null ? {} : { tools: [toTool(search)] }),
  }),
  addEvent: (reply, event) => {
    if (!isRecord(event)) throw new UnusableReply('The model endpoint sent an event that is none of a response.');
    switch (event['type']) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        reply.text += typeof event['delta'] === 'string' ? event['delta'] : '';
        return;
      case 'response.output_item.added':
        // Two messages are two paragraphs at least.
        if (isRecord(event['item']) && event['item']['type'] === 'message' && reply.text !== '') reply.text += '\n\n';
        return;
      case 'response.created':
        readLabel(reply, event['response']);
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        addResponse(reply, event['response']);
        return;
      case 'error':
        throw new UnusableReply('The model endpoint reported an error in its answer.');
      default:
        // Other events repeat what these say, or tell of tools and thoughts.
        return;
    }
  },
  addWhole: addResponse,
};

function toTool({ country, state, city }: NonNullable<Asked['search']>): object {
  if (country === undefined) return { type: 'web_search' };
  return { type: 'web_search', user_location: { type: 'approximate', country, region: state, city } };
}

/** The response as it is at its end, which holds everything that the events before it have said. */
function addResponse(reply: ModelReply, response: unknown): void {
  if (!isRecord(response) || !Array.isArray(response['output']))
    throw new UnusableReply('The model endpoint sent JSON that is no response.');
  const { status, incomplete_details: details } = response;
  if (status === 'failed' || status === 'cancelled')
    throw new UnusableReply('The model endpoint reported an error in its answer.');
  readLabel(reply, response);
  const output = toRecords(response['output']);
  addMessages(
    reply,
    output.filter(({ type }) => type === 'message'),
  );
  const searches = output.filter(({ type }) => type === 'web_search_call');
  reply.searched = searches.length > 0;
  reply.queries = searches.flatMap(readQueries);
  const reason = isRecord(details) ? details['reason'] : undefined;
  reply.finish = status !== 'incomplete' ? 'stop' : reason === 'content_filter' ? 'filter' : 'length';
}

function readLabel(reply: ModelReply, response: unknown): void {
  if (isRecord(response) && typeof response['model'] === 'string' && response['model'] !== '')
    reply.label = response['model'];
}

/** Some servers leave the output of the last event empty; then the text is what the events have said. */
function addMessages(reply: ModelReply, messages: readonly Record<string, unknown>[]): void {
  if (messages.length === 0) return;
  reply.text = '';
  reply.annotations = [];
  for (const message of messages) {
    if (reply.text !== '') reply.text += '\n\n';
    for (const part of toRecords(message['content'])) addPart(reply, part);
  }
}

/** The offsets of a part's annotations count from the part's own start. */
function addPart(reply: ModelReply, { text, refusal, annotations }: Record<string, unknown>): void {
  const said = typeof text === 'string' ? text : typeof refusal === 'string' ? refusal : '';
  const from = reply.text.length;
  reply.text += said;
  const cited = toRecords(annotations).filter(({ type }) => type === 'url_citation');
  for (const annotation of cited.flatMap((each) => toAnnotation(said, each))) {
    const { startIndex, endIndex } = annotation;
    reply.annotations.push({ ...annotation, startIndex: from + startIndex, endIndex: from + endIndex });
  }
}

function readQueries({ action }: Record<string, unknown>): string[] {
  if (!isRecord(action)) return [];
  const several: unknown[] = Array.isArray(action['queries']) ? action['queries'] : [action['query']];
  return several.filter((query): query is string => typeof query === 'string' && query !== '');
}
