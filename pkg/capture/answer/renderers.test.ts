import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import MarkdownIt from 'markdown-it';
import { marked } from 'marked';
import { createHighlighter, type Highlighter } from 'shiki';
import { readHtml, readMarkdown, type Reading } from './index.ts';
import { renderReact } from './react-for-tests.mjs';

// What chat interfaces make of an assistant's markdown must read back as what the markdown says.

let shiki: Highlighter;
beforeAll(async () => {
  shiki = await createHighlighter({ themes: ['github-dark'], langs: ['python', 'ts'] });
});
afterAll(() => shiki.dispose());

const markdownIt = new MarkdownIt({ linkify: true });

/** With the bar above each code block that chat interfaces have. */
function renderShiki(markdown: string): string {
  const renderer = new MarkdownIt({
    linkify: true,
    highlight: (code, language) =>
      ['python', 'ts'].includes(language)
        ? shiki
            .codeToHtml(code, { lang: language, theme: 'github-dark' })
            .replace('<pre ', `<pre data-language="${language}" `)
            .replace('<code>', '<div><span aria-hidden="true">copy</span><button>Copy code</button></div><code>')
        : '',
  });
  return renderer.render(markdown);
}

const RENDERERS: Record<string, (markdown: string) => string> = {
  'react-markdown': renderReact,
  'markdown-it': (markdown) => markdownIt.render(markdown),
  'markdown-it with shiki': renderShiki,
  marked: (markdown) => marked.parse(markdown, { gfm: true, async: false }),
};

const fromPage = (html: string): Reading => readHtml({ html, baseUrl: 'https://engine.example/', listed: [] });
const fromSource = (markdown: string): Reading => readMarkdown({ markdown, annotations: [] });

// Words that no renderer takes for markup, and marks that all of them read alike.
const word = fc.constantFrom(
  'alpha',
  'Beta',
  '3.5',
  'naïve',
  '日本語',
  'مرحبا',
  '👩‍👧',
  'x_y_z',
  'a\\*b',
  '&amp;',
  'can’t',
  'so',
);
const plain = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '));
const site = fc.integer({ min: 1, max: 9 }).map((number) => `https://site${number}.example/page?a=1&b=2#c`);
const inline = fc.oneof(
  { weight: 4, arbitrary: plain },
  { weight: 1, arbitrary: plain.map((text) => `**${text}**`) },
  { weight: 1, arbitrary: plain.map((text) => `*${text}*`) },
  { weight: 1, arbitrary: plain.map((text) => `~~${text}~~`) },
  { weight: 1, arbitrary: fc.constantFrom('`a < b`', '`` `x` ``', '`--flag`') },
  { weight: 2, arbitrary: fc.tuple(plain, site).map(([text, url]) => `[${text}](${url})`) },
  { weight: 1, arbitrary: fc.tuple(plain, site).map(([text, url]) => `[**${text}**](${url} "A title")`) },
  { weight: 1, arbitrary: plain.map((text) => `![${text}](https://img.example/a.png)`) },
);
const line = fc.array(inline, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(' '));
const code = fc
  .tuple(
    fc.constantFrom('python', 'ts', ''),
    fc.array(fc.constantFrom('def f(x):', '    return "<b>" + x', '', '``', '# ü 日本', 'a && b'), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .filter(([, lines]) => lines.join('').trim() !== '')
  .map(([language, lines]) => `\`\`\`${language}\nx = 1\n${lines.join('\n')}\ny\n\`\`\``);
const cell = fc.oneof(
  plain,
  fc.constant(''),
  fc.constant('a\\|b'),
  plain.map((text) => `**${text}**`),
);
const table = fc
  .tuple(
    fc.array(fc.constantFrom('---', ':--', '--:', ':-:'), { minLength: 2, maxLength: 4 }),
    fc.array(fc.array(cell, { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  )
  .map(([marks, rows]) => {
    const toRow = (cells: string[]): string => `| ${cells.slice(0, marks.length).join(' | ')} |`;
    return [toRow(['h 1', 'h 2', 'h 3', 'h 4']), toRow(marks), ...rows.map(toRow)].join('\n');
  });
const indent = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`);
const { block } = fc.letrec<{ block: string; list: string }>((tie) => ({
  list: fc
    .tuple(
      fc.constantFrom('- ', '1. ', '7. '),
      fc.array(fc.tuple(line, fc.option(tie('list'), { maxDepth: 2 })), { minLength: 1, maxLength: 3 }),
    )
    .map(([mark, items]) =>
      items
        .map(([text, inner]) => `${mark}${text}${inner === null ? '' : indent(`\n${inner}`, ' '.repeat(mark.length))}`)
        .join('\n'),
    ),
  block: fc.oneof(
    { weight: 4, arbitrary: line },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.integer({ min: 1, max: 6 }), line).map(([depth, text]) => `${'#'.repeat(depth)} ${text}`),
    },
    { weight: 1, arbitrary: line.map((text) => `> ${text}`) },
    { weight: 2, arbitrary: tie('list') },
    { weight: 1, arbitrary: code },
    { weight: 1, arbitrary: table },
    { weight: 1, arbitrary: fc.constant('---') },
    { weight: 1, arbitrary: fc.tuple(line, line).map(([first, second]) => `${first}  \n${second}`) },
  ),
}));
const answer = fc.array(block, { minLength: 1, maxLength: 5 }).map((blocks) => blocks.join('\n\n'));

describe.each(Object.entries(RENDERERS))('an answer that %s renders', (_, render) => {
  it('reads as its markdown does: text, markdown, blocks, sources, ranges', () => {
    fc.assert(
      fc.property(answer, (markdown) => {
        expect(fromPage(render(markdown))).toEqual(fromSource(markdown));
      }),
      { numRuns: 150 },
    );
  });
});

describe('formulas', () => {
  it.each([
    'E = mc^2',
    'a_1 < b',
    '\\frac{1}{3}',
    '\\text{if } x \\to \\infty',
    '\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}',
  ])('of KaTeX are read as they were written: %s', (tex) => {
    expect(fromPage(renderReact(`So $${tex}$ holds.`)).answer.text).toBe(`So ${tex} holds.`);
    expect(fromPage(renderReact(`So\n\n$$\n${tex}\n$$\n\nholds.`)).answer.text).toBe(`So\n\n${tex}\n\nholds.`);
  });
});

describe('footnotes', () => {
  it('of react-markdown cite what their notes name', () => {
    const markdown =
      'One is big.[^1] Two.[^n]\n\n[^1]: The lab, https://lab.example/\n[^n]: [Shop](https://shop.example/)';
    expect(fromPage(renderReact(markdown))).toEqual(fromSource(markdown));
  });
});
