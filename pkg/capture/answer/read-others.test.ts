import { describe, expect, it } from '@jest/globals';
import { emptyAnswer, readHtml, readMarkdown, readResults, type Reading, type UrlAnnotation } from './index.ts';

function selected({ answer, sources }: Reading): [string, boolean, string[]][] {
  return sources.map(({ url, cited, charRanges }) => [
    url,
    cited,
    charRanges.map(({ start, end }) => answer.text.slice(start, end)),
  ]);
}

describe('a markdown answer', () => {
  it.each<[string, string, string]>([
    ['paragraphs with folded lines', 'a\nb\n\nc', 'a b\n\nc'],
    ['neighbouring links apart', '[a](https://a.example)[b](https://b.example)', 'a b'],
    ['lists and code', '1. a\n   - b\n\n```js\nc\n```', 'a\nb\n\nc'],
    ['tables', '| a | b |\n|--|--|\n| c | d |', 'a\tb\nc\td'],
    ['a tilde as "about"', 'from ~5 to ~6 km', 'from ~5 to ~6 km'],
    ['HTML in it as HTML', 'a<br>b <script>c</script>d\n\n<div>e<script>f</script></div>', 'a\nb d\n\ne'],
    ['escapes and entities', '\\*a\\* &amp; b', '*a* & b'],
  ])('reads %s', (_, markdown, text) => {
    expect(readMarkdown({ markdown, annotations: [] }).answer.text).toBe(text);
  });

  it.each<[string, string, string]>([
    ['TeX between dollars', 'Energy $E = m_1 c^2$ is *big*, $x$ too.', 'Energy E = m_1 c^2 is big, x too.'],
    [
      'TeX on lines of its own',
      'So\n\n$$\n\\int x^2\\,dx \\\\ y*z*\n$$\n\nholds.',
      'So\n\n\\int x^2\\,dx \\\\ y*z*\n\nholds.',
    ],
    ['TeX in brackets', 'So \\(a_1 * b_2\\) and \\[c = d\\].', 'So a_1 * b_2 and c = d.'],
    ['prices', 'From $5 to $10, or $5_000 and $6.', 'From $5 to $10, or $5_000 and $6.'],
    ['code', '`$a = b$` and\n\n```\n$a = b$\n\\(c = d\\)\n```', '$a = b$ and\n\n$a = b$\n\\(c = d\\)'],
    ['links', '[$a = b$](https://a.example/?x=$a=b$)', 'a = b'],
    ['brackets that are none', '\\[b] \\\\] \\(so\\)', '[b] \\] (so)'],
  ])('reads formulas where it is told to: %s', (_, markdown, text) => {
    expect(readMarkdown({ markdown, annotations: [], formulas: true }).answer.text).toBe(text);
  });

  it('keeps the places of annotations behind formulas', () => {
    const markdown = 'If $a_1 = b$, then *c* holds.';
    const startIndex = markdown.indexOf('then');
    const annotation = { url: 'https://s.example/', title: 'S', startIndex, endIndex: markdown.length };
    expect(selected(readMarkdown({ markdown, annotations: [annotation], formulas: true }))).toEqual([
      ['https://s.example/', true, ['then c holds.']],
    ]);
  });

  it('cites its links, references and footnotes', () => {
    const markdown =
      'One [a](https://a.example/). Two [b][r].[^n]\n\n[r]: https://b.example/\n[^n]: The lab, https://c.example/';
    expect(selected(readMarkdown({ markdown, annotations: [] }))).toEqual([
      ['https://a.example/', true, ['a']],
      ['https://b.example/', true, ['b']],
      ['https://c.example/', true, ['Two b.']],
    ]);
  });

  it.each<[string, string, string, string[]]>([
    ['words', 'one two three', 'two', ['two']],
    ['words behind escapes, entities and emphasis', '\\* &amp; **one** two', 'one** two', ['one two']],
    ['words in a quote over two lines', '> one\n> two three', 'one\n> two', ['one two']],
    ['two paragraphs, each for itself', 'one two\n\nthree four', 'two\n\nthree', ['two', 'three']],
    ['an emoji whole', 'a 👍 b', '👍', ['👍']],
    ['code', 'a `b c` d', '`b c`', ['b c']],
    ['a link and its brackets', 'a ([b](https://b.example)) c', '([b](https://b.example))', ['(b)']],
  ])('maps an annotation of %s to the text', (_, markdown, part, texts) => {
    const startIndex = markdown.indexOf(part);
    const annotation = { url: 'https://s.example/', title: 'S', startIndex, endIndex: startIndex + part.length };
    const reading = readMarkdown({ markdown, annotations: [annotation] });
    expect(selected(reading).find(([url]) => url === 'https://s.example/')).toEqual([
      'https://s.example/',
      true,
      texts,
    ]);
  });

  it.each<[string, Partial<UrlAnnotation>, boolean | null]>([
    ['reversed offsets', { startIndex: 3, endIndex: 1 }, false],
    ['offsets outside the text', { startIndex: 90, endIndex: 99 }, false],
    ['offsets that are no numbers', { startIndex: NaN, endIndex: NaN }, false],
    ['an end beyond the text', { startIndex: 0, endIndex: 99 }, true],
    ['no usable URL', { url: 'about:blank' }, null],
  ])('bears an annotation with %s', (_, part, cited) => {
    const annotation = { url: 'https://s.example/', title: 'S', startIndex: 0, endIndex: 3, ...part };
    const { sources } = readMarkdown({ markdown: 'one two', annotations: [annotation] });
    expect(sources.map((source) => source.cited)).toEqual(cited === null ? [] : [cited]);
  });

  it.each<[string, string]>([
    ['quotes', '>'.repeat(20_000)],
    ['lists', '- '.repeat(5_000)],
    ['stars', '*'.repeat(20_000)],
    ['links that never end', '[a]('.repeat(20_000)],
    ['code that never ends', Array.from({ length: 600 }, (_, length) => '`'.repeat(length)).join('a')],
    ['formulas that never end', '\\[ a'.repeat(20_000)],
    ['emphasis inside emphasis', '*a **b '.repeat(10_000) + 'c* d** '.repeat(10_000)],
  ])('is plain text where it is nothing but %s inside each other', (_, tangle) => {
    const { text } = readMarkdown({ markdown: `one\n\n${tangle}x`, annotations: [], formulas: true }).answer;
    expect(text).toBe(`one\n\n${tangle}x`);
  });
});

describe('a page of results', () => {
  it('is one list, each title linked', () => {
    const { answer, sources } = readResults({
      results: [
        { url: '/a', title: 'A *1*', snippet: 'About  a.', date: '2 days ago' },
        { url: 'https://b.example/', title: '', snippet: '' },
        { url: 'https://engine.example/a', title: 'A again' },
        { url: 'javascript:x', title: 'No link' },
      ],
      baseUrl: 'https://engine.example/',
    });
    expect(answer).toEqual({
      text: 'A *1*\nAbout a.\n2 days ago\nhttps://b.example/\nA again\nNo link',
      markdown:
        '1. [A \\*1\\*](https://engine.example/a)\\\n   About a.\\\n   2 days ago\n' +
        '2. [https://b.example/](https://b.example/)\n3. [A again](https://engine.example/a)\n4. No link',
      blocks: [{ type: 'list', text: answer.text, referenceIds: [1, 2] }],
    });
    expect(sources).toEqual([
      {
        id: 1,
        url: 'https://engine.example/a',
        title: 'A *1*',
        role: 'result',
        cited: true,
        charRanges: [
          { start: 0, end: 5 },
          { start: 45, end: 52 },
        ],
      },
      {
        id: 2,
        url: 'https://b.example/',
        title: 'https://b.example/',
        role: 'result',
        cited: true,
        charRanges: [{ start: 26, end: 44 }],
      },
    ]);
  });

  it('has its summary above the list, and is empty without either', () => {
    const summary = readResults({ results: [], baseUrl: 'https://engine.example/', summary: 'About 3 results' });
    expect(summary.answer.text).toBe('About 3 results');
    expect(readResults({ results: [], baseUrl: 'https://engine.example/' })).toEqual({
      answer: emptyAnswer(),
      sources: [],
    });
  });
});

describe('huge and hostile HTML', () => {
  const read = (html: string): Reading => readHtml({ html, baseUrl: 'https://e.example/', listed: [] });

  it('is read to 2 MB, and what was cut is no text', () => {
    const { text } = read(`<p>${'a'.repeat(1_999_990)}</p><p>never read</p>`).answer;
    expect(text).toHaveLength(1_999_990);
  });

  it('is read whole at 200 kB', () => {
    const paragraph = '<p>Some <b>bold</b> words.<a href="/x">A link</a> <i>and</i> more.</p>';
    const { answer, sources } = read(paragraph.repeat(3_000));
    expect(answer.blocks).toHaveLength(3_000);
    expect(sources[0]?.charRanges).toHaveLength(3_000);
  });

  it.each<[string, string]>([
    ['nested elements', '<div>'.repeat(100_000)],
    ['nested lists', '<ul><li>'.repeat(50_000)],
    ['nested quotes', '<blockquote>'.repeat(50_000)],
    ['tags that never end', '<p>x<a'.repeat(200_000)],
    ['spans beyond reason', '<table>' + '<tr><td colspan=9999 rowspan=9999>'.repeat(500)],
    ['line breaks', '<br>x'.repeat(50_000)],
  ])('does not overflow on %s', (_, html) => {
    expect(read(`${html}x</p>`).answer.text).toContain('x');
  });
});
