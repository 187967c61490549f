import { describe, expect, it } from '@jest/globals';
import { globToRegExp } from './glob.ts';
import { parseProfile } from './parse.ts';
import { fillText, fillUrl } from './template.ts';

const MINIMAL = {
  go: { url: 'https://engine.example/search?q={query}' },
  ask: [],
  finished: { quietMs: 300 },
  read: { answer: '.answer' },
};

const FULL = {
  go: {
    url: 'http://127.0.0.1:8090/x?q={query}&hl={language}',
    headers: { 'x-lang': '{language}' },
    applies: ['language'],
    until: 'main',
  },
  ask: [
    { fill: '#a', with: '{query}' },
    { type: '#a', with: '{query}' },
    { press: '#a', key: 'Enter' },
    { click: '#b', optional: true },
    { select: '#c', option: 'x' },
    { waitFor: '#d' },
    { scroll: '#e' },
  ],
  finished: {
    markers: [
      { present: 'a' },
      { gone: 'a' },
      { visible: 'a' },
      { hidden: 'a' },
      { attribute: 'data-x', of: 'a', is: '' },
    ],
    quietMs: 0,
    streams: ['**/ask'],
    busy: '.stop',
    error: '.error',
    graceMs: 100,
  },
  read: {
    answer: 'p',
    join: true,
    drop: ['button'],
    citations: [
      {
        item: 'a',
        where: 'inline',
        role: 'citation',
        link: 'a',
        attribute: 'href',
        title: 'b',
        chip: true,
        refersBy: 'text',
      },
    ],
    fanOut: { item: 'i', text: 'b' },
    results: { item: 'li', link: 'a', title: 'h3', snippet: 'p', date: 'time' },
    model: { selector: 'b', attribute: 'title' },
    before: [{ click: 'a' }],
    webSearch: '.web',
  },
  classify: {
    absent: [{ selector: 'x' }],
    blocked: [{ status: [403] }, { title: 'no', text: 'no' }],
    consent: [{ when: 'a', dismiss: 'b' }],
  },
  links: { unwrap: [{ host: 'a.example', parameter: 'q' }], strip: ['utm_*'] },
  fetch: { abortTypes: ['image'], abortUrls: ['**/ads/**'] },
  model: { providerId: 'acme', label: 'nine' },
};

describe('a profile', () => {
  it.each([
    ['the smallest', MINIMAL],
    ['one with every key', FULL],
  ])('is taken as it stands: %s', (_, profile) => {
    expect(parseProfile(profile, 'spec.profile')).toEqual(profile);
  });

  it.each<[string, unknown, string]>([
    ['not an object', 7, 'spec.profile: must be an object'],
    ['nothing', undefined, 'spec.profile: is required'],
    ['an unknown key', { ...MINIMAL, colour: 1 }, 'spec.profile: has unknown keys: colour (allowed: go, '],
    [
      'a misspelt key deep inside',
      { ...MINIMAL, finished: { quietMs: 1, quiteMs: 2 } },
      'spec.profile.finished: has unknown keys: quiteMs',
    ],
    ['a missing part', { ...MINIMAL, go: undefined }, 'spec.profile.go: is required'],
    [
      'another type',
      { ...MINIMAL, finished: { quietMs: '300' } },
      'spec.profile.finished.quietMs: must be a number of milliseconds',
    ],
    [
      'no web URL',
      { ...MINIMAL, go: { url: 'file:///etc/passwd' } },
      'spec.profile.go.url: must be an http or https URL',
    ],
    [
      'an unknown placeholder',
      { ...MINIMAL, go: { url: 'https://x.example/{prompt}' } },
      'spec.profile.go.url: has unknown placeholders: prompt (known: query,',
    ],
    [
      'a step that is none',
      { ...MINIMAL, ask: [{ drag: 'a' }] },
      'spec.profile.ask[0]: must have exactly one of the keys: fill, type,',
    ],
    [
      'a step with two verbs',
      { ...MINIMAL, ask: [{ click: 'a', press: 'b', key: 'Enter' }] },
      'spec.profile.ask[0]: must have exactly one of the keys',
    ],
    ['an incomplete step', { ...MINIMAL, ask: [{ fill: 'a' }] }, 'spec.profile.ask[0].with: is required'],
    [
      'an unknown role',
      { ...MINIMAL, read: { answer: 'p', citations: [{ item: 'a', where: 'inline', role: 'x' }] } },
      'spec.profile.read.citations[0].role: must be one of: citation, reference, result, related',
    ],
    ['nothing to read', { ...MINIMAL, read: { join: true } }, 'spec.profile.read: must name an answer or results'],
    [
      'a condition that says nothing',
      { ...MINIMAL, classify: { absent: [{}] } },
      'spec.profile.classify.absent[0]: must say something',
    ],
    [
      'a header that is no text',
      { ...MINIMAL, go: { ...MINIMAL.go, headers: { a: 1 } } },
      'spec.profile.go.headers.a: must be a text',
    ],
  ])('is refused when it is or has %s', (_, profile, message) => {
    expect(() => parseProfile(profile, 'spec.profile')).toThrow(message);
  });

  it('is refused with all its faults at once, each with its path', () => {
    const profile = { ...MINIMAL, ask: [{ fill: 'a' }], finished: { quietMs: -1 } };
    expect(() => parseProfile(profile, 'p')).toThrow(
      /^(?=[^]*p\.ask\[0\]\.with: )(?=[^]*p\.finished\.quietMs: must not be negative)/,
    );
  });
});

describe('a template', () => {
  it.each([
    ['https://x.example/?q={query}&hl={language}', { query: 'a b&c=ü' }, 'https://x.example/?q=a%20b%26c%3D%C3%BC'],
    [
      'https://x.example/{language}/find/{query}?gl={country}#k={query}',
      { query: '/..', country: 'DE' },
      'https://x.example/find/%2F..?gl=DE#k=%2F..',
    ],
    ['https://x.example/?hl={language}', {}, 'https://x.example/'],
  ])('%s with %j is the URL %s', (template, values, url) => {
    expect(fillUrl(template, values)).toBe(url);
  });

  it('of a text keeps the value as it is, and is nothing without it', () => {
    expect(fillText('Tell: {query}', { query: 'a\n{language}' })).toBe('Tell: a\n{language}');
    expect(fillText('{language}', { query: 'a' })).toBeNull();
  });
});

describe('a glob', () => {
  it.each([
    ['**/ask', 'https://x.example/api/ask', true],
    ['**/ask', 'https://x.example/ask?x=1', false],
    ['**/ask*', 'https://x.example/ask?x=1', true],
    ['https://x.example/*/ask', 'https://x.example/a/b/ask', false],
    ['**/a.b?c=1', 'https://x.example/aXbc=1', false],
    ['**/a.b?c=1', 'https://x.example/a.b?c=1', true],
  ])('%s against %s: %s', (glob, url, matches) => {
    expect(globToRegExp(glob).test(url)).toBe(matches);
  });
});
