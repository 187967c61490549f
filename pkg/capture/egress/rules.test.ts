import { describe, expect, it } from '@jest/globals';
import { deriveRules, judgeHost, parseHostRule } from './rules.ts';

describe('an entry of the allow-list', () => {
  it.each<[string, string, number, string]>([
    ['engine.example', 'engine.example', 443, 'public'],
    ['engine.example', 'ENGINE.example.', 80, 'public'],
    ['engine.example', 'www.engine.example', 443, 'refused'],
    ['engine.example', 'notengine.example', 443, 'refused'],
    ['*.engine.example', 'a.b.engine.example', 443, 'public'],
    ['*.engine.example', 'engine.example', 443, 'refused'],
    ['*.engine.example', 'evilengine.example', 443, 'refused'],
    ['*', 'anything.example', 443, 'public'],
    ['*', '10.0.0.1', 80, 'public'],
    ['search.svc:8080', 'search.svc', 8080, 'anywhere'],
    ['search.svc:8080', 'search.svc', 8081, 'refused'],
    ['*.svc:8080', 'search.svc', 8080, 'public'],
    ['10.0.0.7:8080', '10.0.0.7', 8080, 'anywhere'],
    ['[fd00::7]:8080', '[fd00::7]', 8080, 'anywhere'],
    ['[fd00::7]:8080', 'fd00::7', 8080, 'anywhere'],
  ])('%s judges %s, port %i: %s', (text, host, port, verdict) => {
    expect(judgeHost([parseHostRule(text)], host, port)).toBe(verdict);
  });

  it.each([
    '',
    'https://engine.example',
    'engine.example/path',
    'a b',
    '*.*',
    '*.[::1]',
    'engine.example:0',
    'x:99999',
    '[::1',
    '.',
  ])('%j is none', (text) => {
    expect(() => parseHostRule(text)).toThrow('must be a host like engine.example');
  });
});

describe('the start address of a profile allows', () => {
  it.each<[string, string, number, string]>([
    ['https://www.engine.example/?q={query}', 'engine.example', 443, 'public'],
    ['https://www.engine.example/?q={query}', 'cdn.engine.example', 443, 'public'],
    ['https://www.engine.example/?q={query}', 'engine.other', 443, 'refused'],
    ['https://{country}.engine.co.uk/', 'de.engine.co.uk', 443, 'public'],
    ['https://{country}.engine.co.uk/', 'other.co.uk', 443, 'refused'],
    ['https://mine.github.io/', 'yours.github.io', 443, 'refused'],
    ['https://engine.example:8443/', 'engine.example', 8443, 'anywhere'],
    ['https://engine.example:8443/', 'engine.example', 443, 'public'],
    ['http://127.0.0.1:8090/?q={query}', '127.0.0.1', 8090, 'anywhere'],
    ['http://127.0.0.1:8090/?q={query}', '127.0.0.1', 5432, 'refused'],
    ['http://searxng/', 'searxng', 80, 'anywhere'],
    ['http://[::1]:90/', '::1', 90, 'anywhere'],
  ])('of %s: %s, port %i: %s', (url, host, port, verdict) => {
    expect(judgeHost(deriveRules(url), host, port)).toBe(verdict);
  });
});
