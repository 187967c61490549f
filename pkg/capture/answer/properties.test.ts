import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Link, Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { readHtml, readMarkdown, type ListedSource, type Reading } from './index.ts';
import { findFaults } from './invariants-for-tests.ts';

const BASE = 'https://engine.example/dir/page';
const SECRET = 'zqscriptzq';
const LISTED: ListedSource[] = [
  { url: '/listed', title: 'Listed', role: 'reference', ref: 'r1' },
  { url: 'https://only.example/', title: '', role: 'related' },
];

const WORDS =
  'a Foo. 3.5 1. # - + * ** _x_ ~~ ` | \\ [b] (c) &amp; &lt;i&gt; ! > = :// www.x.de a@b.de 日本。 مرحبا 👩‍👧 “q” ﬁ é so&shy;ft ze\u200bro $x$ [^1] [x] <wbr> &rlm;שלום می\u200cخ'.split(
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

const FORMULAS = [
  '<span class="katex"><span class="katex-mathml"><math><semantics><mi>a</mi><annotation encoding="application/x-tex">a_1 * \\frac{b}{c}</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">a</span></span>',
  '<span class="katex"><span class="katex-html" aria-hidden="true"><i>a</i>+b</span></span>',
  '<mjx-container><mjx-math aria-hidden="true">a</mjx-math><mjx-assistive-mml><math><msup><mi>a</mi><mn>2</mn></msup></math></mjx-assistive-mml></mjx-container>',
  '<math><mfrac><mi>a</mi></math>',
];
const NOTES =
  '<section class="footnotes"><h2 class="sr-only">Footnotes</h2><ol>' +
  '<li id="fn1">See <a href="/note">it</a>. <a href="#r1" data-footnote-backref>↩</a></li>' +
  '<li id="fn2">No link. <a href="#r2">↩</a></li></ol></section>';
const code = fc
  .tuple(
    fc.constantFrom('', 'class="language-js"', 'class="hljs c++"', 'data-language="py"'),
    fc.array(
      fc.constantFrom(
        'x = 1',
        '```',
        '~~~~',
        '',
        '  indented\t',
        '&lt;b&gt; `',
        '<span style="user-select:none">1</span>a',
        '<div>line</div>',
        '| a |',
      ),
      { minLength: 1, maxLength: 5 },
    ),
  )
  .map(([attributes, lines]) => tag('pre', tag('code', lines.join('\n'), attributes)));

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
      `<span class="sr-only">${SECRET}</span>`,
      '<sup><a href="#fn1" id="r1">1</a></sup>',
      '<sup><a href="#fn2" id="r2">[2]</a></sup>',
      '<a href="https://z.example/"><img alt=""></a>',
      ...FORMULAS,
    ),
    fc.tuple(tie('inline'), tie('inline')).map(([a, b]) => a + b),
  ),
  block: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('inline'),
    fc.tuple(fc.constantFrom('p', 'div', 'h2', 'h6'), tie('inline')).map(([name, inner]) => tag(name, inner)),
    fc.tuple(fc.constantFrom('blockquote', 'div', 'b'), tie('block')).map(([name, inner]) => tag(name, inner)),
    code,
    fc
      .tuple(
        fc.constantFrom('ul', 'ol', 'ol start="7"'),
        fc.array(tie('block'), { maxLength: 3 }),
        fc.constantFrom('', '<input type="checkbox" checked> '),
      )
      .map(
        ([name, items, box]) => `<${name}>${items.map((item) => tag('li', box + item)).join('')}</${name.slice(0, 2)}>`,
      ),
    fc
      .tuple(fc.constantFrom('', 'open'), tie('inline'), tie('block'))
      .map(([open, title, inner]) => tag('details', tag('summary', title) + inner, open)),
    fc
      .tuple(
        fc.array(
          fc.tuple(tie('inline'), fc.constantFrom('', 'align="right"', 'style="text-align:center"', 'colspan="2"')),
          { minLength: 1, maxLength: 3 },
        ),
        fc.array(
          fc.array(fc.tuple(tie('inline'), fc.constantFrom('', 'rowspan="2"', 'colspan="3"')), { maxLength: 4 }),
          { maxLength: 3 },
        ),
      )
      .map(([head, rows]) => {
        const toRow = (name: string, cells: [string, string][]): string =>
          tag('tr', cells.map(([inner, attributes]) => tag(name, inner, attributes)).join(''));
        return tag(
          'table',
          tag('thead', toRow('th', head)) + tag('tbody', rows.map((row) => toRow('td', row)).join('')),
        );
      }),
    fc
      .array(fc.array(tie('block'), { maxLength: 3 }), { maxLength: 3 })
      .map((rows) => tag('table', rows.map((row) => tag('tr', row.map((cell) => tag('td', cell)).join(''))).join(''))),
    fc.constant('<hr>'),
  ),
  html: fc.array(tie('block'), { maxLength: 5 }).map((blocks) => blocks.join('\n') + NOTES),
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

  it('is sound in all that can be seen without knowing the page', () => {
    fc.assert(
      fc.property(page, (html) => expect(findFaults(read(html))).toEqual([])),
      { numRuns: 300 },
    );
  });

  it('is the same whatever comments and boxes the page puts around it, and read twice', () => {
    fc.assert(
      fc.property(page, (html) => {
        const reading = read(html);
        expect(read(`<!-- x --><div class="a"><section>${html}</section></div><!-- y -->`)).toEqual(reading);
        expect(read(html)).toEqual(reading);
      }),
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
