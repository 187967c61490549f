import { describe, expect, it } from '@jest/globals';
import { readHtml, type ListedSource, type LinkRules, type Reading } from './index.ts';

const BASE = 'https://engine.example/search?q=1';

function read(html: string, more: { listed?: ListedSource[]; links?: LinkRules } = {}): Reading {
  return readHtml({ html, baseUrl: BASE, listed: more.listed ?? [], links: more.links });
}

function chip(url: string, text = '1'): string {
  return `<sup data-scs-cite="citation" data-scs-url="${url}" data-scs-chip>${text}</sup>`;
}

/** `url -> the texts its ranges select`. */
function selections({ answer, sources }: Reading): Record<string, string[]> {
  return Object.fromEntries(
    sources.map(({ url, charRanges }) => [url, charRanges.map(({ start, end }) => answer.text.slice(start, end))]),
  );
}

describe('text of an HTML answer', () => {
  it.each<[string, string, string]>([
    ['folds white space across elements', '<p> a <b> b </b>\n\t c </p>', 'a b c'],
    ['keeps words of one element together', '<p>un<i>believ</i>able</p>', 'unbelievable'],
    ['keeps no-break spaces inside, not around', '<p>&nbsp;10&nbsp;%&nbsp;</p><p>&nbsp;</p>', '10\u00a0%'],
    [
      'takes no-break spaces and breaks around a text for padding',
      '<p>a<br>&nbsp;</p><p>&nbsp;<br>&nbsp;</p><p>&nbsp;<br>b</p>',
      'a\n\nb',
    ],
    ['separates blocks by an empty line', '<div>a<div>b</div>c</div>', 'a\n\nb\n\nc'],
    ['keeps line breaks', '<p>a <br> b</p>', 'a\nb'],
    ['ends a paragraph at two line breaks', '<p>a<br><br>b</p>', 'a\n\nb'],
    ['gives items lines of their own', '<ul><li>a<ul><li>b</li></ul></li><li><p>c</p><p>d</p></li></ul>', 'a\nb\nc\nd'],
    ['reads items that the page wraps', '<ul><div><li>a</li></div><div>b <i>c</i></div></ul>', 'a\nb c'],
    [
      'sets table cells apart by tabs',
      '<table><tr><th></th><th>b</th></tr><tr><td>c</td><td>d<br>e</td></tr></table>',
      '\tb\nc\td e',
    ],
    [
      'keeps cells that span in their columns',
      '<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr></table>',
      'a\tb\n\tc',
    ],
    ['keeps code as written', '<pre><code>if a:\n    b  c\n</code></pre>', 'if a:\n    b  c'],
    ['leaves labels and buttons of code boxes out', '<pre><div>py<button>Copy</button></div><code>x</code></pre>', 'x'],
    ['reads lines of code that are elements', '<pre><div>a</div><div>b</div></pre>', 'a\nb'],
    ['takes the alternative text of images', '<p>by <img src=x alt="Acme">, <img src=y></p>', 'by Acme,'],
    ['keeps images and words apart', '<p>one<img alt="two">three</p>', 'one two three'],
    ['keeps neighbouring links apart', '<p><a href="/a">one</a><a href="/b">two</a></p>', 'one two'],
    [
      'keeps the source of a formula',
      '<p>So <span><math><mi>E</mi><annotation>E=mc^2</annotation></math></span><span aria-hidden="true">E</span>.</p>',
      'So E=mc^2.',
    ],
    [
      'writes a formula as TeX where only its MathML stands there',
      '<p>So <mjx-container><mjx-math aria-hidden="true">E</mjx-math><mjx-assistive-mml><math><mfrac><mi>a</mi><mn>2</mn></mfrac></math></mjx-assistive-mml></mjx-container>.</p>',
      'So \\frac{a}{2}.',
    ],
    [
      'reads the letters of a formula that has nothing else',
      '<p>So <span class="katex"><span class="katex-html" aria-hidden="true"><i>E</i>=<i>m</i></span></span>.</p>',
      'So E=m.',
    ],
    ['reads the symbols of a formula that is not well formed', '<p><math><mfrac><mi>a</mi></math></p>', 'a'],
    [
      'leaves out what nobody sees',
      '<p>soft&shy;ly zero\u200bwidth\ufeff می\u200cخواهم 👨\u200d👩</p>',
      'softly zerowidth می\u200cخواهم 👨\u200d👩',
    ],
    [
      'leaves out the handles of headings',
      '<h2>Title <a href="#t">¶</a><a href="#t">#</a></h2><h3>1 <a href="/p#t">👍</a></h3><p><a href="#t">¶</a></p>',
      'Title\n\n1 👍\n\n¶',
    ],
    ['leaves out text for screen readers', '<p>a<span class="x sr-only">b</span></p>', 'a'],
    [
      'leaves out what is folded away',
      '<details><summary>a</summary>b</details><details open><summary>c</summary>d</details>',
      'a\n\nc\n\nd',
    ],
    [
      'keeps code without the numbers of its lines',
      '<table><tr><td class="linenos"><pre>1\n2</pre></td><td><pre>a\nb</pre></td></tr></table><pre><code><span style="user-select: none">1</span>c\n<div>d</div><div></div><div>e</div></code></pre>',
      'a\nb\n\nc\nd\n\ne',
    ],
    [
      'takes the bar above code for the page’s, and a word that the author wrote for text',
      '<div><div><span>python</span><button>Copy</button></div><div><pre><code class="language-python">a</code></pre></div></div>' +
        '<div><span>SQL</span><button>Copy</button><pre>b</pre></div><div><p>python</p><pre><code class="language-python">c</code></pre></div>' +
        '<div><span>Output</span><pre>d</pre></div><div><div>bash</div><pre><code class="language-python">e</code></pre></div>',
      'a\n\nb\n\npython\n\nc\n\nOutput\n\nd\n\nbash\n\ne',
    ],
    ['keeps a way to a place in the answer', '<p><a href="#b">b</a></p><h2 id="b">b</h2>', 'b\n\nb'],
    ['keeps emoji, CJK and right-to-left text', '<p>👩‍👩‍👧 日本語 مرحبا</p>', '👩‍👩‍👧 日本語 مرحبا'],
    ['removes NUL and lone surrogates', '<p>a\0b\ud83dc</p>', 'abc'],
    [
      'reads nothing that is hidden or a control',
      '<style>s</style><p hidden>h</p><i aria-hidden="true">i</i><button>b</button><template>t</template><script>j</script><p style="display:none">d</p><p>x</p>',
      'x',
    ],
    ['reads nothing of an unfinished tag', '<p>a</p><a href="x', 'a'],
  ])('%s', (_, html, text) => {
    expect(read(html).answer.text).toBe(text);
  });
});

describe('blocks of an HTML answer', () => {
  it('have the types of the contract, a table being a list of rows', () => {
    const html =
      '<h2>h</h2><p>p</p><ol><li>l</li></ol><pre>c</pre><blockquote><p>q</p></blockquote><hr>' +
      '<table><tr><td>t</td></tr></table><div role="heading" aria-level="3">r</div>';
    const blocks = read(html).answer.blocks.map(({ type, text }) => `${type} ${text}`);
    expect(blocks).toEqual(['heading h', 'paragraph p', 'list l', 'code c', 'quote q', 'list t', 'heading r']);
  });

  it('refer to the sources whose ranges lie in them, in order of position', () => {
    const html = `<p>A <a href="/b">b</a>.${chip('/a')}</p><p>None.</p><p><a href="/b">c</a></p>`;
    const reading = read(html);
    expect(reading.sources.map(({ id, url }) => [id, url])).toEqual([
      [1, 'https://engine.example/b'],
      [2, 'https://engine.example/a'],
    ]);
    expect(reading.answer.blocks.map((block) => block.referenceIds)).toEqual([[2, 1], [], [1]]);
  });
});

describe('markdown of an HTML answer', () => {
  it.each<[string, string, string]>([
    ['headings, emphasis and strikes', '<h3>a</h3><p><b>b</b> <i>c</i> <del>d</del></p>', '### a\n\n**b** *c* ~~d~~'],
    ['no space inside emphasis', '<p>a<b> b </b>c</p>', 'a **b** c'],
    [
      'links in emphasis as one stretch',
      '<p><b>a <a href="/x">b</a> c</b></p>',
      '**a [b](https://engine.example/x) c**',
    ],
    ['no empty emphasis or links', '<p>a<b></b><a href="/x"></a> b</p>', 'a b'],
    [
      'no links but http(s)',
      '<p><a href="javascript:x">a</a> <a href="mailto:b@c">b</a> <a href="#c">c</a></p>',
      'a b c',
    ],
    ['code with its language', '<pre><code class="hljs language-ts">a</code></pre>', '```ts\na\n```'],
    ['code with its language of hljs alone', '<pre><code class="hljs python">a</code></pre>', '```python\na\n```'],
    ['a fence longer than those in the code', '<pre>```\na</pre>', '````\n```\na\n````'],
    ['nested lists', '<ol start="3"><li>a<ul><li>b</li></ul></li><li>c</li></ol>', '3. a\n   - b\n4. c'],
    [
      'tables',
      '<table><tr><th>a</th><th>b</th></tr><tr><td>c|d</td></tr></table>',
      '| a | b |\n| - | - |\n| c\\|d | |',
    ],
    [
      'lists that begin with another number apart from their item',
      '<ul><li>a<ol start="7"><li>b</li></ol></li></ul>',
      '- a\n\n  7. b',
    ],
    [
      'tables set as the page sets them',
      '<table><thead><tr><th>a</th><th align="right">b</th><th style="text-align: center">c</th></tr></thead><tr><td>1</td><td>2</td><td>3</td></tr></table>',
      '| a | b | c |\n| - | -: | :-: |\n| 1 | 2 | 3 |',
    ],
    [
      'tables without a head, or with an empty one',
      '<table><tr><td>a</td></tr></table><table><tr><th></th></tr><tr><td>b</td></tr></table>',
      '| |\n| - |\n| a |\n\n| |\n| - |\n| b |',
    ],
    [
      'boxes to tick',
      '<ul><li><input type=checkbox checked>a<ul><li><p><input type=checkbox> b</p></li></ul></li><li>c</li></ul>',
      '- [x] a\n  - [ ] b\n- c',
    ],
    [
      'emphasis of whole words only where markdown can say it',
      '<p>a<b>(b)</b> <b>(c)</b> d<i>e</i>f</p>',
      'a(b) **(c)** d*e*f',
    ],
    ['quotes', '<blockquote>a<p>b</p></blockquote>', '> a\n>\n> b'],
    ['what looks like markdown as text', '<p># 1 *a* [b]</p>', '\\# 1 \\*a\\* \\[b]'],
    ['no chips', `<p>a${chip('/x')}.</p>`, 'a.'],
  ])('has %s', (_, html, markdown) => {
    expect(read(html).answer.markdown).toBe(markdown);
  });
});

describe('citations of an HTML answer', () => {
  const cited = 'https://c.example/';
  it.each<[string, string, string[]]>([
    ['the text of a link', `<p>See <a href="${cited}"> this <b>page</b> </a>.</p>`, ['this page']],
    ['the sentence before a chip', `<p>One. Two is 3.5 big${chip(cited)}. Three.</p>`, ['Two is 3.5 big']],
    ['the sentence whose full stop a chip follows', `<p>One. Two! ${chip(cited)} Three.</p>`, ['Two!']],
    ['the same for chips in a row', `<p>One.${chip('https://o.example')}${chip(cited)} Two.</p>`, ['One.']],
    ['nothing before the list item', `<ul><li>One</li><li>Two${chip(cited)}</li></ul>`, ['Two']],
    ['nothing before the cell', `<table><tr><td>One</td><td>Two${chip(cited)}</td></tr></table>`, ['Two']],
    ['nothing before the block', `<p>One</p><p>Two ${chip(cited)}</p>`, ['Two']],
    ['Chinese sentences', `<p>第一句。第二句。${chip(cited)}第三句。</p>`, ['第二句。']],
    ['the last sentence when chips stand below it', `<p>One. Two.</p><div>${chip(cited)}</div>`, ['Two.']],
    ['no text when a chip stands first', `<p>${chip(cited)} One</p>`, []],
    ['no text when a link shows none', `<p>One <a href="${cited}"><svg></svg></a></p>`, []],
    [
      'the sentence before the mark of a note',
      `<p>One. Two.<sup><a href="#n" id="r">[1]</a></sup></p><ol><li id="n"><a href="${cited}">x</a> <a href="#r">↩︎</a></li></ol>`,
      ['Two.'],
    ],
    ['every place of a URL', `<p><a href="${cited}">a</a> b <a href="${cited}">c</a></p>`, ['a', 'c']],
    ['overlapping places once', `<p>One${chip(cited)} and two${chip(cited)}.</p>`, ['One and two']],
    [
      'the text of a marked element',
      `<p>A <span data-scs-cite="reference" data-scs-url="${cited}">b c</span></p>`,
      ['b c'],
    ],
    [
      'a marked button',
      `<p>One <button data-scs-cite="citation" data-scs-chip data-scs-url="${cited}">x</button></p>`,
      ['One'],
    ],
    [
      'the link inside a chip',
      `<p>One <span data-scs-cite="citation" data-scs-chip><a href="${cited}">2</a></span></p>`,
      ['One'],
    ],
    [
      'the link around a chip',
      `<p>One <a href="${cited}"><sup data-scs-cite="citation" data-scs-chip>2</sup></a></p>`,
      ['One'],
    ],
  ])('cover %s', (_, html, texts) => {
    const reading = read(html);
    expect(selections(reading)[cited]).toEqual(texts);
    expect(reading.sources.find(({ url }) => url === cited)?.cited).toBe(true);
  });

  it('leave a gap only where the page shows one', () => {
    expect(read(`<p>One.${chip('/a')}Two ${chip('/b')}, three</p>`).answer.text).toBe('One. Two, three');
    expect(read(`<p>一。${chip('/a')}二</p>`).answer.text).toBe('一。二');
  });

  it('take URL and title from the source list where a chip names an entry of it', () => {
    const listed: ListedSource[] = [
      { url: 'https://only.example/', title: 'Only listed', role: 'related' },
      { url: 'https://l.example/', title: 'Listed', role: 'reference', ref: 's1' },
      { url: 'javascript:void 0', title: 'None', role: 'reference' },
    ];
    const { sources } = read('<p>One <i data-scs-cite="citation" data-scs-chip data-scs-ref="s1">1</i></p>', {
      listed,
    });
    expect(sources).toEqual([
      {
        id: 1,
        url: 'https://l.example/',
        title: 'Listed',
        role: 'citation',
        cited: true,
        charRanges: [{ start: 0, end: 3 }],
      },
      { id: 2, url: 'https://only.example/', title: 'Only listed', role: 'related', cited: false, charRanges: [] },
    ]);
  });

  it('count in UTF-16 code units', () => {
    const { sources } = read('<p>👍🏽 <a href="https://a.example">é</a></p>');
    expect(sources[0]?.charRanges).toEqual([{ start: 5, end: 6 }]);
  });
});

describe('URLs of citations', () => {
  const links: LinkRules = {
    unwrap: [{ host: 'go.example', parameter: 'u' }],
    strip: ['utm_*', 'gclid'],
  };
  const wrap = (url: string): string => `https://go.example/r?u=${encodeURIComponent(url)}`;
  it.each<[string, string, string[]]>([
    ['relative to the page', '/a?b#c', ['https://engine.example/a?b#c']],
    [
      'without tracking, the rest as written',
      'https://a.example/?q=a%20b+c&utm_source=x&gclid=1&utm',
      ['https://a.example/?q=a%20b+c&utm'],
    ],
    ['unwrapped', wrap('https://a.example/?gclid=1#f'), ['https://a.example/#f']],
    ['unwrapped three times', wrap(wrap(wrap('https://a.example/'))), ['https://a.example/']],
    ['unwrapped no more than that', wrap(wrap(wrap(wrap('https://a.example/')))), [wrap('https://a.example/')]],
    ['without credentials', 'https://me:pw@a.example/', ['https://a.example/']],
    ['never a script', 'javascript:alert(1)', []],
    ['never data', 'data:text/html,x', []],
    ['never a script in a redirect', wrap('javascript:alert(1)'), [wrap('javascript:alert(1)')]],
    ['never what is no URL', 'http://', []],
  ])('are %s', (_, href, urls) => {
    const { sources } = read(`<p><a href="${href.replaceAll('&', '&amp;')}">x</a></p>`, { links });
    expect(sources.map(({ url }) => url)).toEqual(urls);
  });
});
