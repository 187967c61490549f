import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Source } from '../../contract/index.ts';
import { extractMentions } from './index.ts';

function source(url: string, more: Partial<Source> = {}): Source {
  return { id: 1, url, title: '', role: 'reference', cited: false, charRanges: [], ...more };
}

const pin = (text: string, targets: string[], sources: Source[] = []) =>
  extractMentions({ text, sources, extract: { targets } });

describe('whatever the text', () => {
  const word = fc.constantFrom(
    'Acme',
    'acme',
    "Acme's",
    'Globex-like',
    'New Balance',
    '😀',
    '日本',
    'é',
    '.',
    '\n',
    ' ',
    'globex.com',
    'x'.repeat(300),
  );
  const anyText = fc.oneof(
    fc.array(word, { maxLength: 60 }).map((words) => words.join(' ')),
    fc.string({ unit: 'grapheme', maxLength: 400 }),
  );
  const targets = fc.array(
    fc.oneof(fc.constantFrom('Acme', 'globex.com', 'New Balance', '日本'), fc.string({ minLength: 1, maxLength: 20 })),
    { maxLength: 10 },
  );
  const sources = [
    source('https://acme.com', { id: 1, title: 'Acme' }),
    source('https://newbalance.com', { id: 2 }),
    source('not a url', { id: 3 }),
  ];

  it('a snippet stands in it, short and whole, and ranks are dense from 1', () => {
    fc.assert(
      fc.property(anyText, targets, (text, pinned) => {
        const mentions = pin(text, pinned, sources);
        if (pinned.length > 0) expect(mentions.map(({ target }) => target)).toEqual(pinned);
        for (const { mentioned, snippet, position } of mentions) {
          expect([snippet !== null, position !== null]).toEqual([mentioned, mentioned]);
          if (snippet === null) continue;
          expect(text).toContain(snippet);
          expect(snippet.length).toBeLessThanOrEqual(240);
          expect(snippet).not.toMatch(/\p{Surrogate}/u);
        }
        const ranks = [...new Set(mentions.flatMap(({ position }) => position ?? []))].sort((a, b) => a - b);
        expect(ranks).toEqual(ranks.map((_, index) => index + 1));
      }),
      { numRuns: 300 },
    );
  });

  it('an answer of 200 kB takes little time', () => {
    const text = 'Acme and New Balance and globex.com and 日本 and aaaa. '.repeat(4000);
    const startMs = performance.now();
    pin(
      text,
      ['Acme', 'New Balance', 'globex.com', '日本', 'a a a a', 'Zz', 'target.com', 'newbalance.com', 'x', 'and'],
      sources,
    );
    pin(text, [], sources);
    expect(performance.now() - startMs).toBeLessThan(3_000);
  });
});
