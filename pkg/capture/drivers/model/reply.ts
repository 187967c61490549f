import type { ListedSource, UrlAnnotation } from '../../answer/index.ts';

/** Why a model stopped: it was done, it was cut at a length limit, or a filter took the answer away. */
export type Finish = 'stop' | 'length' | 'filter';

/** What a model has said so far. */
export type ModelReply = {
  /** Markdown. */
  text: string;
  /** Offsets count UTF-16 code units of `text`. */
  annotations: UrlAnnotation[];
  /** Sources that the endpoint names beside the text; `[1]` in the text means the first. */
  listed: ListedSource[];
  /** The model that the endpoint says it used. */
  label: string | null;
  /** Null while it has not stopped. */
  finish: Finish | null;
  /** Whether the web was searched; null where the endpoint does not tell. */
  searched: boolean | null;
  /** The searches that it made, where the endpoint tells. */
  queries: string[];
};

export function emptyReply(): ModelReply {
  return { text: '', annotations: [], listed: [], label: null, finish: null, searched: null, queries: [] };
}

/** One way of an endpoint to be asked, and to answer. */
export type Dialect = {
  /** Below the base of the API. */
  path: string;
  body(asked: Asked): object;
  /** Puts what one event of the stream says into `reply`. Throws `UnusableReply` for an error of the endpoint. */
  addEvent(reply: ModelReply, event: unknown): void;
  /** The same for an answer that came whole. */
  addWhole(reply: ModelReply, answer: unknown): void;
};

export type Asked = {
  model: string;
  query: string;
  /** Null where the model is not to search the web. */
  search: { country?: string | undefined; state?: string | undefined; city?: string | undefined } | null;
};

/**
 * An annotation with offsets in code units. Endpoints count code points or code units and do not say which; where the
 * two differ, the span that holds its own URL is the right one.
 */
export function toAnnotation(
  text: string,
  { url, title, start_index: start, end_index: end }: Record<string, unknown>,
): UrlAnnotation[] {
  if (typeof url !== 'string') return [];
  const given = {
    url,
    title: typeof title === 'string' ? title : '',
    startIndex: typeof start === 'number' ? start : 0,
    endIndex: typeof end === 'number' ? end : 0,
  };
  const inUnits = { ...given, startIndex: toUnits(text, given.startIndex), endIndex: toUnits(text, given.endIndex) };
  return [!holdsUrl(text, given) && holdsUrl(text, inUnits) ? inUnits : given];
}

function holdsUrl(text: string, { url, startIndex, endIndex }: UrlAnnotation): boolean {
  const host = URL.canParse(url) ? new URL(url).host : url;
  const span = text.slice(startIndex, endIndex);
  // A span that is off by a few characters holds the URL too, but not its brackets.
  return span.includes(host) && /^\s*[([]/.test(span) && /\)\s*$/.test(span);
}

/** The code unit at which the code point number `points` stands. */
function toUnits(text: string, points: number): number {
  let units = 0;
  let left = points;
  for (const point of text) {
    if (left <= 0) break;
    units += point.length;
    left -= 1;
  }
  return units + left;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function toRecords(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
