import {
  readHtml,
  readMarkdown,
  readResults,
  readText,
  type ListedSource,
  type Reading,
  type ResultEntry,
} from '../../answer/index.ts';
import { UnusableReply } from '../exchange.ts';
import { compileExpression, type Expression } from './expression.ts';
import type { EntryMapping, HttpProfile, ResultMapping } from './profile.ts';

/** What the answer of a search API says. */
export type Reply =
  | { kind: 'blocked' | 'error' | 'absent' }
  | { kind: 'page'; reading: Reading; fanOut: string[]; modelLabel: string | null; webSearch: boolean | null };

export type ReplyReader = (json: unknown, baseUrl: string) => Reply;

/**
 * Reads answers as the profile maps them. Throws `UnusableReply`, naming the mapping, for one that gives something
 * else than its place needs.
 */
export function createReplyReader({ read, classify, links }: HttpProfile): ReplyReader {
  const rules = [
    { kind: 'blocked', holds: find('classify.blocked', classify.blocked) },
    { kind: 'error', holds: find('classify.error', classify.error) },
    { kind: 'absent', holds: find('classify.absent', classify.absent) },
  ] as const;
  const results = read.results === undefined ? null : createResultReader(read.results);
  const sources = read.sources === undefined ? null : createEntryReader('read.sources', read.sources);
  const answer =
    read.answer === undefined ? null : { ...read.answer, find: find('read.answer.text', read.answer.text) };
  const fanOut = find('read.fanOut', read.fanOut);
  const model = find('read.model', read.model);
  const webSearch = find('read.webSearch', read.webSearch);

  function readPage(json: unknown, baseUrl: string): Reading {
    if (answer === null) return readResults({ ...(results?.(json, baseUrl) ?? { results: [] }), baseUrl, links });
    const text = toText(answer.find(json), 'read.answer.text');
    const beside = results?.(json, baseUrl).results ?? [];
    const listed: ListedSource[] = [
      ...(sources?.(json) ?? []).map(
        ({ url, title }, index) => ({ url, title, role: 'reference', ref: `${index + 1}` }) as const,
      ),
      ...beside.map(({ url, title = '' }) => ({ url, title, role: 'result' }) as const),
    ];
    switch (answer.format) {
      case 'html':
        return readHtml({ html: text, baseUrl, listed, links });
      case 'markdown':
        return readMarkdown({ markdown: text, annotations: [], markers: true, formulas: true, baseUrl, listed, links });
      case 'text':
        return readText({ text, markers: true, baseUrl, listed, links });
    }
  }

  return (json, baseUrl) => {
    const verdict = rules.find(({ holds }) => isTrue(holds(json)));
    if (verdict !== undefined) return { kind: verdict.kind };
    const searched = webSearch(json);
    return {
      kind: 'page',
      reading: readPage(json, baseUrl),
      fanOut: toTexts(fanOut(json), 'read.fanOut'),
      modelLabel: toText(model(json), 'read.model') || null,
      webSearch: typeof searched === 'boolean' ? searched : null,
    };
  };
}

/** An expression that says where it stands when it fails; one that is left out finds nothing. */
function find(path: string, text: string | undefined): Expression {
  if (text === undefined) return () => null;
  const expression = compileExpression(text);
  return (data) => {
    try {
      return expression(data);
    } catch (cause) {
      throw new UnusableReply(`${path} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  };
}

type Entry = { url: string; title: string; item: unknown };

/** Entries without a URL are left out, as in a page of results. */
function createEntryReader(path: string, mapping: EntryMapping): (json: unknown) => Entry[] {
  const items = find(`${path}.items`, mapping.items);
  const url = find(`${path}.url`, mapping.url);
  const title = find(`${path}.title`, mapping.title);
  return (json) => {
    const found = items(json);
    // A list that is missing is not an empty one: the API has changed, or said something else than an answer.
    if (!Array.isArray(found)) throw new UnusableReply(`${path}.items gave ${kindOf(found)}, not a list.`);
    return found.flatMap((item: unknown): Entry[] => {
      const target = toText(url(item), `${path}.url`);
      return target.trim() === '' ? [] : [{ url: target, title: toText(title(item), `${path}.title`), item }];
    });
  };
}

function createResultReader(mapping: ResultMapping) {
  const path = 'read.results';
  const entries = createEntryReader(path, mapping);
  const snippet = find(`${path}.snippet`, mapping.snippet);
  const date = find(`${path}.date`, mapping.date);
  const rank = find(`${path}.rank`, mapping.rank);
  const summary = find(`${path}.summary`, mapping.summary);

  return (json: unknown, baseUrl: string): { results: ResultEntry[]; summary: string } => {
    const shown = (text: string): string => (mapping.format === 'html' ? htmlToLine(text, baseUrl) : text);
    const results = entries(json).map(({ url, title, item }) => ({
      url,
      title: shown(title),
      snippet: shown(toText(snippet(item), `${path}.snippet`)),
      date: toDate(date(item), `${path}.date`),
      rank: toRank(rank(item)),
    }));
    return {
      results: results.sort((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank)).map(({ rank: _, ...entry }) => entry),
      summary: shown(toText(summary(json), `${path}.summary`)),
    };
  };
}

function htmlToLine(html: string, baseUrl: string): string {
  return readHtml({ html, baseUrl, listed: [] }).answer.text.replace(/\s+/g, ' ');
}

/** JMESPath's own notion of truth. */
function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== null && value !== undefined && value !== false && value !== '';
}

function toText(value: unknown, path: string): string {
  return toTexts(value, path).join(' ');
}

function toTexts(value: unknown, path: string): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => toTexts(entry, path));
  throw new UnusableReply(`${path} gave ${kindOf(value)}, not a text.`);
}

const FIRST_MILLISECONDS = 1e11;

/** Dates stay as the API writes them; a number counts the seconds or milliseconds since 1970. */
function toDate(value: unknown, path: string): string {
  if (typeof value !== 'number') return toText(value, path);
  const date = new Date(Math.abs(value) < FIRST_MILLISECONDS ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? String(value) : date.toISOString();
}

function toRank(value: unknown): number {
  const rank = typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN;
  return Number.isNaN(rank) ? Infinity : rank;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
