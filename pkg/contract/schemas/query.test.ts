import { describe, expect, it } from '@jest/globals';
import querystring from 'node:querystring';
import { encodeCursor } from './cursor.ts';
import { parsePrefer } from './prefer.ts';
import {
  parseHealthQuery,
  parseJobListQuery,
  parseJobQuery,
  parseOwnerQuery,
  parseRunListQuery,
  parseSearchQuery,
  parseWatchListQuery,
} from './query.ts';
import { pathsOf } from './testing.ts';

const positionOf = (prefix: 'job' | 'watch' | 'wrun') => ({
  createdAt: '2026-06-27T12:00:00.000Z',
  id: `${prefix}_01jb2c3d4e5f6g7h8j9kmnpqrs`,
});
const cursorOf = (prefix: 'job' | 'watch' | 'wrun') => encodeCursor(positionOf(prefix));
const FIRST_PAGE = { limit: 20, cursor: null };

type Parse = (query: unknown) => unknown;

describe('query parameters', () => {
  it.each<[string, Parse, string, unknown]>([
    ['a search', parseSearchQuery, '', { mode: null, view: null }],
    ['a search', parseSearchQuery, 'mode=sync&view=flat', { mode: 'sync', view: 'flat' }],
    ['a search', parseSearchQuery, 'mode=async&utm_source=x', { mode: 'async', view: null }],
    ['a job list', parseJobListQuery, '', { ...FIRST_PAGE, state: null, surface: null }],
    [
      'a job list',
      parseJobListQuery,
      'limit=1&state=queued',
      { limit: 1, cursor: null, state: 'queued', surface: null },
    ],
    [
      'a job list',
      parseJobListQuery,
      'limit=100&surface=engine_news',
      { limit: 100, cursor: null, state: null, surface: 'engine_news' },
    ],
    [
      'a job list',
      parseJobListQuery,
      `cursor=${cursorOf('job')}`,
      { limit: 20, cursor: positionOf('job'), state: null, surface: null },
    ],
    ['a job', parseJobQuery, '', { view: null, includeHtml: false }],
    ['a job', parseJobQuery, 'view=flat&include=html', { view: 'flat', includeHtml: true }],
    ['the health', parseHealthQuery, '', { deep: false }],
    ['the health', parseHealthQuery, 'probe=deep', { deep: true }],
    ['a watch list', parseWatchListQuery, '', { ...FIRST_PAGE, status: null }],
    ['a watch list', parseWatchListQuery, 'status=paused&owner=acct_1', { ...FIRST_PAGE, status: 'paused' }],
    [
      'a watch list',
      parseWatchListQuery,
      `cursor=${cursorOf('watch')}`,
      { limit: 20, cursor: positionOf('watch'), status: null },
    ],
    ['a run list', parseRunListQuery, `cursor=${cursorOf('wrun')}`, { limit: 20, cursor: positionOf('wrun') }],
    ['any route', parseOwnerQuery, 'owner=acct_1', 'acct_1'],
    ['any route', parseOwnerQuery, 'owner=', null],
    ['any route', parseOwnerQuery, 'x=1', null],
  ])('of %s are read: %p %s', (_name, parse, query, expected) => {
    expect(parse(querystring.parse(query))).toEqual(expected);
  });

  it.each<[Parse, string, string]>([
    [parseSearchQuery, 'mode=fast', 'mode'],
    [parseSearchQuery, 'mode=', 'mode'],
    [parseSearchQuery, 'mode=SYNC', 'mode'],
    [parseSearchQuery, 'mode=sync&mode=sync', 'mode'],
    [parseSearchQuery, 'view=full', 'view'],
    ...['0', '101', '-1', '1.5', '1e1', '+5', ' 5', '05', 'ten', ''].map((limit): [Parse, string, string] => [
      parseJobListQuery,
      querystring.stringify({ limit }),
      'limit',
    ]),
    [parseJobListQuery, 'limit=5&limit=5', 'limit'],
    [parseJobListQuery, 'state=running', 'state'],
    [parseJobListQuery, 'surface=bing', 'surface'],
    [parseJobListQuery, 'cursor=abc', 'cursor'],
    [parseJobListQuery, 'cursor=', 'cursor'],
    [parseJobListQuery, `cursor=${cursorOf('watch')}`, 'cursor'],
    [parseJobQuery, 'include=pdf', 'include'],
    [parseJobQuery, 'view=', 'view'],
    [parseHealthQuery, 'probe=shallow', 'probe'],
    [parseWatchListQuery, 'status=gone', 'status'],
    [parseRunListQuery, `cursor=${cursorOf('job')}`, 'cursor'],
    [parseOwnerQuery, 'owner=a&owner=b', 'owner'],
    [parseOwnerQuery, 'owner=a%00', 'owner'],
  ])('that are malformed are VALIDATION_FAILED by name: %p %s', (parse, query, path) => {
    expect(pathsOf(() => parse(querystring.parse(query)))).toEqual([path]);
  });
});

describe('Prefer', () => {
  it.each<[string | undefined, number | null]>([
    [undefined, null],
    ['', null],
    ['wait=30', 30],
    ['wait=0', 0],
    ['wait=120', 120],
    ['wait=121', 120],
    ['wait=99999999999999999999', 120],
    ['WAIT = 7', 7],
    ['wait="7"', 7],
    ['respond-async, wait=10', 10],
    ['wait=10; foo=bar', 10],
    ['wait=abc, wait=5', 5],
    ['wait=5, wait=6', 5],
    ['wait', null],
    ['wait=', null],
    ['wait=-1', null],
    ['wait=1.5', null],
    ['wait=1e3', null],
    ['wait="7', null],
    ['await=5', null],
    ['respond-async', null],
  ])('%j asks to wait for %j seconds', (header, seconds) => {
    expect(parsePrefer(header)).toBe(seconds);
  });
});
