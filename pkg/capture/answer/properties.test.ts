import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Link, Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { readHtml, readMarkdown, type ListedSource, type Reading } from './index.ts';

const BASE = 'https://engine.example/dir/page';
const SECRET = 'zqscriptzq';
const LISTED: ListedSource[] = [
  { url: '/listed', title: 'Listed', role: 'reference', ref: 'r1' },
  { url: 'https://only.example/', title: '', role: 'related' },
];

const WORDS =
  'a Foo. 3.5 1. # - + * ** _x_ ~~ ` | \\ [b] (c) &amp; &lt;i&gt; ! > = :// www.x.de a@b.de 日本。 مرحبا 👩‍👧 “q” ﬁ é'.split(
    ' ',
  );
const text = fc
  .array(fc.constantFrom(...WORDS, ' ', '\n', '&nbsp;'), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(''));
const url = fc.constantFrom(
  '/a',
  'b?c#d',
  'https://x.example/',
  '//y.example/z',
  'javascript:x',
  'mailto:a@b',
  '#f',
  '',
  'https://(p).example/a b)',
);

function tag(name: string, content: string, attributes = ''): string {
  return `<${name}${attributes === '' ? '' : ` ${attributes}`}>${content}</${name}>`;
}

const { html: page } = fc.letrec<{ inline: string; block: string; html: string }>((tie) => ({
  inline: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    text,
    fc
      .tuple(fc.constantFrom('b', 'i', 'em', 'del', 'code', 'span', 'q'), tie('inline'))
      .map(([name, inner]) => tag(name, inner)),
    fc.tuple(url, tie('inline')).map(([href, inner]) => tag('a', inner, `href="${href}"`)),
    url.map((href) => tag('sup', '9', `data-scs-cite="citation" data-scs-chip data-scs-url="${href}"`)),
    fc.constant('<i data-scs-cite="reference" data-scs-ref="r1" data-scs-chip>pill</i>'),
    fc.constantFrom(
      '<br>',
      '<img alt="pic">',
      `<script>${SECRET}</script>`,
      `<b hidden>${SECRET}</b>`,
      `<button>${SECRET}</button>`,
    ),
    fc.tuple(tie('inline'), tie('inline')).map(([a, b]) => a + b),
  ),
  block: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('inline'),
    fc.tuple(fc.constantFrom('p', 'div', 'h2', 'h6'), tie('inline')).map(([name, inner]) => tag(name, inner)),
    fc.tuple(fc.constantFrom('blockquote', 'div', 'b'), tie('block')).map(([name, inner]) => tag(name, inner)),
    text.map((inner) => tag('pre', tag('code', inner, 'class="language-js"'))),
    fc
      .tuple(fc.constantFrom('ul', 'ol'), fc.array(tie('block'), { maxLength: 3 }))
      .map(([name, items]) => tag(name, items.map((item) => tag('li', item)).join(''))),
    fc
      .array(fc.array(tie('block'), { maxLength: 3 }), { maxLength: 3 })
      .map((rows) => tag('table', rows.map((row) => tag('tr', row.map((cell) => tag('td', cell)).join(''))).join(''))),
    fc.constant('<hr>'),
  ),
  html: fc.array(tie('block'), { maxLength: 5 }).map((blocks) => blocks.join('\n')),
}));

function read(html: string): Reading {
  return readHtml({ html, baseUrl: BASE, listed: LISTED });
}

function findLinks(node: Nodes): Link[] {
  if (node.type === 'link') return [node];
  return 'children' in node ? node.children.flatMap(findLinks) : [];
}

function holds(check: (reading: Reading) => void): void {
  fc.assert(
    fc.property(page, (html) => check(read(html))),
    { numRuns: 300 },
  );
}

describe('any answer', () => {
  it('has the texts of its blocks as its text', () => {
    holds(({ answer }) => {
      expect(answer.text).toBe(answer.blocks.map((block) => block.text).join('\n\n'));
      expect(answer.blocks.every((block) => block.text !== '')).toBe(true);
    });
  });

  it('has markdown that reads back as the same text', () => {
    holds(({ answer }) =>
      expect(readMarkdown({ markdown: answer.markdown, annotations: [] }).answer.text).toBe(answer.text),
    );
  });

  it('numbers its sources from 1, each URL once, the listed ones last', () => {
    holds(({ sources }) => {
      expect(sources.map(({ id }) => id)).toEqual(sources.map((_, index) => index + 1));
      expect(new Set(sources.map((source) => source.url)).size).toBe(sources.length);
      expect(sources.every(({ cited }, index) => cited || sources.slice(index).every((source) => !source.cited))).toBe(
        true,
      );
      expect(sources.every(({ cited, charRanges }) => cited || charRanges.length === 0)).toBe(true);
    });
  });

  it('has ranges inside its text, trimmed, sorted and apart', () => {
    holds(({ answer, sources }) => {
      for (const { charRanges } of sources) {
        let last = 0;
        for (const { start, end } of charRanges) {
          const selected = answer.text.slice(start, end);
          expect(start).toBeGreaterThanOrEqual(last);
          expect(selected).toHaveLength(end - start);
          expect(selected).not.toBe('');
          expect(selected).toBe(selected.trim());
          last = end;
        }
      }
    });
  });

  it('refers from a block to exactly the sources with a range in it', () => {
    holds(({ answer, sources }) => {
      let from = 0;
      for (const block of answer.blocks) {
        const to = from + block.text.length;
        const inside = sources.filter(({ charRanges }) =>
          charRanges.some(({ start, end }) => start >= from && end <= to),
        );
        expect(block.referenceIds.toSorted((a, b) => a - b)).toEqual(inside.map(({ id }) => id));
        from = to + 2;
      }
    });
  });

  it('has no text that the page does not show', () => {
    holds(({ answer }) => expect(`${answer.text}${answer.markdown}`).not.toContain(SECRET));
  });

  it('has absolute http(s) links with text only', () => {
    holds(({ answer, sources }) => {
      for (const link of findLinks(fromMarkdown(answer.markdown))) {
        expect(link.url).toMatch(/^https?:\/\//);
        expect(link.children).not.toEqual([]);
      }
      for (const source of sources) expect(new URL(source.url).href).toBe(source.url);
    });
  });

  it('selects exactly the text of a link', () => {
    const words = fc.stringMatching(/^[a-zé日👍 ]{0,8}x[a-z ]{0,4}$/u);
    fc.assert(
      fc.property(page, words, page, (before, link, after) => {
        const { answer, sources } = read(`${before}<p>y <a href="https://one.example/">${link}</a> y</p>${after}`);
        const source = sources.find(({ url }) => url === 'https://one.example/');
        const selected = source?.charRanges.map(({ start, end }) => answer.text.slice(start, end));
        expect(selected).toEqual([link.trim().replace(/ +/g, ' ')]);
      }),
    );
  });
});

describe('any string', () => {
  it('can be read as HTML and as markdown', () => {
    const nonsense = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc
        .array(
          fc.constantFrom(
            '<',
            '>',
            '</',
            'a',
            'table',
            'td',
            ' href="',
            '"',
            '&#0;',
            '\ud800',
            '\0',
            '- ',
            '\n',
            '`',
            '[',
            '](',
            '<!--',
            '\t',
          ),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(nonsense, fc.integer(), fc.integer(), (source, startIndex, endIndex) => {
        const annotations = [{ url: 'https://a.example/', title: source, startIndex, endIndex }];
        for (const { answer, sources } of [read(source), readMarkdown({ markdown: source, annotations })]) {
          expect(JSON.stringify([answer, sources])).not.toMatch(/\\u0000|\\ud[89a-f]/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
