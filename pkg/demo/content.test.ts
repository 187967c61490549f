import { describe, expect, it } from '@jest/globals';
import { makeContent } from './content.ts';
import { readDirectives } from './directives.ts';
import { writeMarkdown } from './markdown.ts';
import { cutPieces, groupInTicks, renderBlocks } from './pieces.ts';

const contentOf = (query: string) => makeContent(readDirectives(query));

describe('directives', () => {
  it.each([
    { query: 'plain', expected: { topic: 'plain', slowMs: null, status: null, stall: false } },
    { query: 'a [[slow:250]] b', expected: { topic: 'a b', slowMs: 250 } },
    { query: '[[http:503]] x', expected: { topic: 'x', status: 503 } },
    { query: '[[stall]][[unicode]] x', expected: { topic: 'x', stall: true, unicode: true } },
    { query: '[[nosources]] x', expected: { sourceless: true } },
    { query: '[[unknown]] x', expected: { topic: '[[unknown]] x' } },
    { query: '[[http:99]] x', expected: { topic: '[[http:99]] x', status: null } },
    { query: '[[long]]', expected: { topic: '', long: true } },
  ])('are read from $query', ({ query, expected }) => {
    expect(readDirectives(query)).toMatchObject(expected);
  });
});

describe('the content', () => {
  it.each(['running shoes', 'crm for florists', '', '東京 ホテル', 'a [b] <c> & "d"'])(
    'of %j is always the same',
    (query) => {
      expect(contentOf(query)).toEqual(contentOf(query));
      expect(contentOf(query)).not.toEqual(contentOf(`${query} other`));
    },
  );

  it.each(['running shoes', 'crm', 'laptops', 'hotels', 'bikes', 'x', '東京'])(
    'of %j has three to six sources on example hosts',
    (query) => {
      const { sources } = contentOf(query);
      expect(sources.length).toBeGreaterThanOrEqual(3);
      expect(sources.length).toBeLessThanOrEqual(6);
      for (const { url } of sources) expect(new URL(url).hostname).toMatch(/\.example\.(com|org|net)$/);
      expect(new Set(sources.map(({ url }) => url)).size).toBe(sources.length);
    },
  );

  it('has 200 kB of text with [[long]]', () => {
    const text = contentOf('x [[long]]').blocks.flatMap((block) => ('sentences' in block ? block.sentences : []));
    expect(text.reduce((sum, sentence) => sum + sentence.text.length, 0)).toBeGreaterThanOrEqual(200_000);
  });

  it('cites nothing with [[nosources]]', () => {
    const content = contentOf('x [[nosources]]');
    expect(content.sources).toEqual([]);
    expect(writeMarkdown(content, (url) => url).citations).toEqual([]);
    expect(renderBlocks(cutPieces(content, () => 'MARK')).join('')).not.toContain('MARK');
  });

  it('never shows a directive', () => {
    const query = 'shoes [[unicode]] [[slow:5]] [[edit]]';
    expect(JSON.stringify(contentOf(query))).not.toMatch(/\[\[[a-z]/);
  });
});

describe('pieces', () => {
  it.each([1, 3, 40])('in %i groups are still all of them, in order', (ticks) => {
    const pieces = cutPieces(contentOf('shoes [[unicode]]'), (_, number) => `[${number}]`);
    const groups = groupInTicks(pieces, ticks);
    expect(groups.length).toBeLessThanOrEqual(ticks);
    expect(groups.flat()).toEqual(pieces);
  });

  it('hold the words with the spaces between them', () => {
    const html = renderBlocks(cutPieces(contentOf('shoes'), () => '')).join('\n');
    expect(html).toContain('is the option that reviewers name most often.');
    expect(html).toContain('Prices and features change, so check the latest details before you decide.');
  });

  it('escape what the query brings in', () => {
    const html = renderBlocks(cutPieces(contentOf('<img src=x onerror=alert(1)>'), () => '')).join('');
    expect(html).not.toContain('<img');
    expect(html).toContain('&lt;img');
  });
});

describe('markdown', () => {
  it('has its citations exactly where the annotations say', () => {
    const { text, citations } = writeMarkdown(contentOf('shoes [[unicode]]'), (url) => url);
    expect(citations.length).toBeGreaterThan(5);
    for (const {
      url_citation: { url, start_index, end_index },
    } of citations) {
      expect(text.slice(start_index, end_index)).toMatch(/^\(\[.+\]\(.+\)\)$/);
      expect(text.slice(start_index, end_index)).toContain(`](${url})`);
    }
  });
});
