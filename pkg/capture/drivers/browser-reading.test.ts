import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chromium } from 'playwright-core';
import { systemClock } from '../../runtime/index.ts';
import { locateBrowser } from '../browser/locate.ts';
import type { BrowserPool } from '../browser/pool.ts';
import type { CapturedPage, CaptureResult } from '../outcome.ts';
import type { Profile } from '../profile/profile.ts';
import { createBrowserDriver } from './browser.ts';
import {
  captureOnce,
  openPool,
  openSite,
  profileOf,
  testLog,
  type CaptureChange,
  type Site,
} from './browser/surface-for-tests.ts';

let site: Site;
let pool: BrowserPool;

beforeAll(async () => {
  site = await openSite();
  pool = await openPool();
});
afterAll(async () => {
  await pool.close();
  await site.close();
});

async function read(html: string, change: Partial<Profile> = {}, task: CaptureChange = {}): Promise<CapturedPage> {
  const result = await captureOnce(pool, profileOf(site.page(html), change), task);
  if (result.outcome === 'completed') return result;
  throw new Error(`not completed: ${JSON.stringify({ ...result, screenshot: undefined })}`);
}

/** The sources with the text that each is cited for. */
function citationsOf({ answer, evidence }: CapturedPage) {
  return evidence.sources.map(({ url, title, role, cited, charRanges }) => ({
    ...{ url, title, role, cited },
    texts: charRanges.map(({ start, end }) => answer.text.slice(start, end)),
  }));
}

describe('the text that is read', () => {
  it.each<[string, string, Partial<Profile['read']>, string]>([
    [
      'leaves out what the page hides',
      '<i style="display:none">no</i><b style="visibility:hidden">no</b><u>yes</u>',
      {},
      'yes',
    ],
    [
      'leaves out what only screen readers get',
      '<span style="position:absolute;width:1px;height:1px;overflow:hidden">no</span>yes',
      {},
      'yes',
    ],
    [
      'keeps lines of code that the style sheet makes lines, without their numbers',
      '<pre><code><span style="display:block"><i style="user-select:none">1</i>def f():</span>' +
        '<span style="display:block"></span><span style="display:block">  return 1</span></code></pre>',
      {},
      'def f():\n\n  return 1',
    ],
    [
      'keeps what stands in a row of code in its row',
      '<pre style="display:flex"><span>a </span><span>b</span></pre>',
      {},
      'a b',
    ],
    [
      'leaves out what is folded away',
      '<details><summary>Thoughts</summary><p>no</p></details><details open><summary>More</summary>yes</details>',
      {},
      'Thoughts\n\nMore\n\nyes',
    ],
    [
      'leaves out what the profile drops',
      'yes <i class="label">label</i><b>and this</b>',
      { drop: ['.label'] },
      'yes and this',
    ],
    [
      'leaves out scripts, styles and buttons',
      'yes<script>1</script><style>p{}</style><button>Copy</button>',
      {},
      'yes',
    ],
    ['keeps line breaks that only CSS shows', '<span style="white-space:pre-wrap">one\ntwo</span>', {}, 'one\ntwo'],
    [
      'has paragraphs where the page shows blocks of its own kind',
      '<x-p style="display:block">one</x-p><x-p style="display:block">two</x-p>',
      {},
      'one\n\ntwo',
    ],
    ['runs on where they are inline', '<x-w>one</x-w><x-w>two</x-w>', {}, 'onetwo'],
    [
      'holds what is slotted into a shadow tree, where the page shows it',
      '<x-box>inside<template shadowrootmode="open">before <slot></slot> after</template></x-box>',
      {},
      'before inside after',
    ],
  ])('%s', async (_, html, change, text) => {
    const page = await read(`<div class="answer">${html}</div>`, { read: { answer: '.answer', ...change } });
    expect(page.answer.text).toBe(text);
  });

  it('keeps the form of tables and ticked boxes that only style and state tell', async () => {
    const html =
      '<style>td + td { text-align: right }</style><table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td>1</td></tr></table>' +
      '<ul><li><input type="checkbox" checked> done</li></ul>';
    const { answer } = await read(`<div class="answer">${html}</div>`);
    expect(answer.markdown).toBe('| a | b |\n| - | -: |\n| c | 1 |\n\n- [x] done');
  });

  it('takes a note that names a source for that source', async () => {
    const page = await read(
      '<div class="answer"><p>One is big.<sup><a href="#n1" id="r1">1</a></sup></p>' +
        '<ol><li id="n1">The lab: <a href="https://lab.example/">https://lab.example/</a> <a href="#r1">↩</a></li></ol></div>',
    );
    expect(page.answer.text).toBe('One is big.');
    expect(citationsOf(page)).toMatchObject([
      { url: 'https://lab.example/', title: 'The lab', texts: ['One is big.'] },
    ]);
  });

  it('is that of the last match, or of all where the profile joins them', async () => {
    const html = '<div class="answer">one</div><div class="answer">two</div>';
    expect((await read(html)).answer.text).toBe('two');
    expect((await read(html, { read: { answer: '.answer', join: true } })).answer.text).toBe('one\n\ntwo');
  });

  it('includes what a step before reading unfolds', async () => {
    const html = `<div class="answer">short</div>
      <button id="more" onclick="setTimeout(() => document.querySelector('.answer').append(' and long'), 80)">More</button>`;
    const before = [{ click: '#missing', optional: true }, { click: '#more' }];
    expect((await read(html, { read: { answer: '.answer', before } })).answer.text).toBe('short and long');
  });
});

describe('citations', () => {
  it('are the links in the text, when the profile has no rules', async () => {
    const page = await read('<p class="answer">See <a href="/a">the docs</a>.</p>');
    expect(citationsOf(page)).toEqual([
      { url: `${site.origin}/a`, title: expect.any(String), role: 'citation', cited: true, texts: ['the docs'] },
    ]);
  });

  it('cover the sentence before a chip, and the chip is no text', async () => {
    const page = await read(
      `<p class="answer">Sky is blue. Grass is green. <x-chip data-ref="s2">[1]</x-chip></p>
       <ol><li data-ref="s1"><a href="https://one.example/">One</a></li>
       <li data-ref="s2"><a href="https://two.example/">Two</a><p>snippet</p></li></ol>`,
      {
        read: {
          answer: '.answer',
          citations: [
            { item: 'x-chip', where: 'inline', role: 'citation', refersBy: 'data-ref' },
            { item: 'ol li', where: 'listed', role: 'reference', link: 'a', refersBy: 'data-ref' },
          ],
        },
      },
    );
    expect(page.answer.text).toBe('Sky is blue. Grass is green.');
    expect(citationsOf(page)).toEqual([
      { url: 'https://two.example/', title: 'Two', role: 'citation', cited: true, texts: ['Grass is green.'] },
      { url: 'https://one.example/', title: 'One', role: 'reference', cited: false, texts: [] },
    ]);
  });

  it('name an entry of the list by its number, and listed entries inside the answer are no text', async () => {
    const page = await read(
      `<div class="answer"><p>Fact. <sup>2</sup></p><ul><li data-title="First" data-url="https://one.example/">1</li>
       <li data-title="Second" data-url="https://two.example/">2</li></ul></div>`,
      {
        read: {
          answer: '.answer',
          citations: [
            { item: 'sup', where: 'inline', role: 'citation', refersBy: 'text' },
            { item: 'li', where: 'listed', role: 'reference', attribute: 'data-url', title: 'data-title' },
          ],
        },
      },
    );
    expect(page.answer.text).toBe('Fact.');
    expect(citationsOf(page).map(({ title, texts }) => [title, texts])).toEqual([
      ['Second', ['Fact.']],
      ['First', []],
    ]);
  });

  it.each([
    ['https://news.example/x', '<a href="https://news.example/x">news.example +2</a>', 'Fact.', 'Fact.'],
    ['https://news.example/x', '<a href="https://news.example/x">The News</a>', 'Fact. The News', 'The News'],
  ])('to %s shown as %s leave the text %j', async (url, link, text, cited) => {
    const citations = [{ item: 'a', where: 'inline', role: 'citation' }] satisfies Profile['read']['citations'];
    const page = await read(`<p class="answer">Fact. ${link}</p>`, { read: { answer: '.answer', citations } });
    expect(page.answer.text).toBe(text);
    expect(citationsOf(page)).toMatchObject([{ url, texts: [cited] }]);
  });
});

describe('beside the text', () => {
  it('follow-up searches count that were shown only while the answer was on its way', async () => {
    const html = `<div id="busy"></div><p class="answer"></p><script>
      const busy = document.querySelector('#busy');
      busy.innerHTML = '<i class="search">first</i>';
      setTimeout(() => { busy.innerHTML = '<i class="search">sec</i>'; }, 60);
      setTimeout(() => { busy.querySelector('i').textContent = 'second'; }, 90);
      setTimeout(() => { busy.remove(); document.querySelector('.answer').textContent = 'Done.'; }, 120);
    </script>`;
    const page = await read(html, { read: { answer: '.answer', fanOut: { item: '.search' }, webSearch: '#busy' } });
    expect(page.evidence.fanOut).toEqual({ provenance: 'observed', queries: ['first', 'second'] });
    expect(page.webSearch).toBe(true);
  });

  it('the model is observed where the page names it, and inferred where only the profile does', async () => {
    const html = '<b id="model" data-id="mini"> Model  9 </b><p class="answer">Text</p>';
    const model = { providerId: 'acme', label: 'guessed' };
    const observed = await read(html, { read: { answer: '.answer', model: { selector: '#model' } }, model });
    expect(observed.model).toEqual({ providerId: 'acme', observedLabel: 'Model 9', inferred: false, confidence: 1 });
    const attribute = await read(html, {
      read: { answer: '.answer', model: { selector: '#model', attribute: 'data-id' } },
    });
    expect(attribute.model).toMatchObject({ providerId: null, observedLabel: 'mini' });
    expect((await read(html, { model })).model).toMatchObject({ observedLabel: 'guessed', inferred: true });
  });

  it('results become a list with title, snippet and date, their links unwrapped', async () => {
    const html = `<div class="hit"><a href="/url?q=https%3A%2F%2Fone.example%2F%3Futm_source%3Dx"><h3>One</h3></a>
      <p>Snippet one</p><time datetime="2026-01-02">2 Jan</time></div>
      <div class="hit"><a href="https://two.example/">Two</a></div><div class="hit">no link</div>`;
    const page = await read(html, {
      read: { results: { item: '.hit', title: 'a', snippet: 'p', date: 'time' } },
      links: { unwrap: [{ host: '127.0.0.1', parameter: 'q' }], strip: ['utm_*'] },
    });
    expect(page.answer.blocks.map(({ type }) => type)).toEqual(['list']);
    expect(page.answer.text).toContain('Snippet one\n2026-01-02');
    expect(citationsOf(page).map(({ url, role, texts }) => [url, role, texts])).toEqual([
      ['https://one.example/', 'result', ['One']],
      ['https://two.example/', 'result', ['Two']],
    ]);
  });

  it.each([
    ['in blocks', '<div>Docs</div><div>City bikes</div>', 'Docs City bikes'],
    ['in a flex container', '<div style="display:flex"><i>Docs</i><i>City <b>bi</b>kes</i></div>', 'Docs City bikes'],
    ['on two lines', 'Docs<br>City bikes', 'Docs City bikes'],
    ['inside one word', 'Docs City <mark>bi</mark>kes', 'Docs City bikes'],
    ['beside what is not shown', 'Docs <span style="display:none">(hidden)</span>City bikes', 'Docs City bikes'],
    ['beside the name of a picture', 'Docs <svg><title>arrow</title></svg>City bikes', 'Docs City bikes'],
  ])('the title of a result is in words as they are seen: %s', async (_, title, seen) => {
    const page = await read(`<a class="hit" href="https://one.example/">${title}</a>`, {
      read: { results: { item: '.hit' } },
    });
    expect(page.answer.text).toBe(seen);
  });
});

describe('the proof', () => {
  const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
  const NASTY = `<link rel="stylesheet" href="/style.css"><meta http-equiv="refresh" content="9;url=/x">
    <p class="answer" onclick="steal()" style="background:url(https://evil.example/a.png)">Text</p>
    <script>window.ran = 1</script><iframe src="/frame"></iframe><img src="/pixel.gif" width="9" height="9" onerror="x()">
    <a href="javascript:alert(1)">bad</a><a href="/good">good</a><form action="/post"><input type="text" value="typed"></form>
    <svg><a xlink:href="javascript:x"><text>t</text></a><script>1</script><animate attributeName="href" to="javascript:x"/></svg>
    <x-s><template shadowrootmode="open"><style>b{color:red}</style><b>shadowed</b></template></x-s>`;

  function openNastyPage(): Promise<CapturedPage> {
    site.on('/style.css', (_, response) =>
      response.setHeader('content-type', 'text/css').end('.answer{color:rgb(1,2,3)}'),
    );
    site.on('/pixel.gif', (_, response) =>
      response.setHeader('content-type', 'image/gif').end(Buffer.from(PIXEL, 'base64')),
    );
    return read(NASTY, {}, { wantsProof: true });
  }

  it('is made only when it was asked for', async () => {
    expect((await read('<p class="answer">Text</p>')).proofHtml).toBeNull();
  });

  it('looks like the page, and neither runs nor loads anything', async () => {
    const { proofHtml } = await openNastyPage();
    const html = proofHtml ?? '';
    expect(html).not.toMatch(
      /<script|<iframe|javascript:|onclick|onerror|http-equiv="refresh"|evil\.example|<animate/i,
    );
    expect(html).toContain(`data:image/gif;base64,${PIXEL}`);
    expect(html).toContain('value="typed"');

    const browser = await chromium.launch({ executablePath: await locateBrowser({}) });
    try {
      const page = await browser.newPage();
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      await page.setContent(html);
      expect(await page.evaluate("getComputedStyle(document.querySelector('.answer')).color")).toBe('rgb(1, 2, 3)');
      expect(await page.locator('x-s b').textContent()).toBe('shadowed');
      expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it('keeps what the page shows beside its text: pictures, drawings, frames, what was typed', async () => {
    const gif = (
      _: unknown,
      response: { setHeader(name: string, value: string): { end(bytes: Buffer): void } },
    ): void => response.setHeader('content-type', 'image/gif; x="</style>"').end(Buffer.from(PIXEL, 'base64'));
    for (const name of ['back', 'inline', 'set', 'imported']) site.on(`/css/${name}.gif`, gif);
    site.on('/css/main.css', (_, response) =>
      response
        .setHeader('content-type', 'text/css')
        .end('@import "more.css" screen; .back{background:url(back.gif)} @font-face{font-family:x;src:url(x.woff)}'),
    );
    site.on('/css/more.css', (_, response) =>
      response.setHeader('content-type', 'text/css').end('.imported{background-image:url("imported.gif")}'),
    );
    site.on('/css/inner', (_, response) =>
      response.end('<!doctype html><style>p{color:rgb(4,5,6)}</style><p>Framed text</p><script>1</script>'),
    );
    const html = `<link rel="stylesheet" href="/css/main.css"><p class="answer">Text</p><div class="back imported">x</div>
      <b style="background: url('/css/inline.gif')">x</b><img srcset="/css/set.gif 1x" width="5" height="5">
      <canvas width="4" height="4"></canvas><iframe src="/css/inner" width="200" height="50"></iframe>
      <textarea>old</textarea><select><option>one<option>two</select><input type="checkbox"><input type="password" value="secret">
      <script>
        document.querySelector('canvas').getContext('2d').fillRect(0, 0, 4, 4);
        document.querySelector('textarea').value = 'typed <here>';
        document.querySelector('select').selectedIndex = 1;
        document.querySelector('input').checked = true;
      </script>`;
    const { proofHtml } = await read(html, { finished: { quietMs: 400 } }, { wantsProof: true });
    const proof = proofHtml ?? '';
    const browser = await chromium.launch({ executablePath: await locateBrowser({}) });
    try {
      const page = await browser.newPage();
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      await page.setContent(proof);
      const shown = await page.evaluate(`(() => {
        const picture = (selector) => getComputedStyle(document.querySelector(selector)).backgroundImage.slice(0, 20);
        const frame = document.querySelector('[data-proof=iframe]').shadowRoot.querySelector('p');
        return {
          pictures: ['.back', 'b'].map(picture), images: [...document.images].map(({ naturalWidth }) => naturalWidth),
          frame: [frame.textContent, getComputedStyle(frame).color],
          form: [document.querySelector('textarea').value, document.querySelector('select').value,
            ...[...document.querySelectorAll('input')].map(({ checked, value }) => checked + value)],
        };
      })()`);
      expect(shown).toEqual({
        pictures: ['url("data:image/gif;', 'url("data:image/gif;'],
        images: [1, 4],
        frame: ['Framed text', 'rgb(4, 5, 6)'],
        form: ['typed <here>', 'two', 'trueon', 'false'],
      });
      expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([]);
      expect(proof).not.toMatch(/snapshot:|woff|secret|<script/);
      expect(proof.match(/url\(data:image\/gif/g)).toHaveLength(3);
    } finally {
      await browser.close();
    }
  });

  it('has a picture beside it where the lane wants one, of the page as it was read', async () => {
    const take = async (html: string): Promise<CaptureResult> => {
      const profile = profileOf(site.page(html));
      const driver = createBrowserDriver({ profile, pool, picture: true, clock: systemClock, log: testLog });
      try {
        const task = { captureId: 'x', surface: 'assistant_one', query: 'x', region: null, wantsProof: true } as const;
        return await driver.capture({ ...task, timeoutMs: 15_000 }, new AbortController().signal);
      } finally {
        await driver.close();
      }
    };
    const still = await take('<p class="answer" style="height:3000px">Text</p>');
    const png = 'proofPng' in still ? Buffer.from(still.proofPng ?? []) : Buffer.alloc(0);
    expect(png.toString('latin1', 1, 4)).toBe('PNG');
    // The whole page, not only what fits a window.
    expect(png.readUInt32BE(20)).toBeGreaterThan(3000);
    // Painting wakes this page up: what it shows then is not what was read.
    const restless = await take(`<p class="answer">Text</p><div style="height:3000px"></div><script>
      addEventListener('resize', () => document.querySelector('.answer').append(' and more'))</script>`);
    expect(restless.outcome).toBe('completed');
    expect('proofPng' in restless).toBe(false);
  });

  it('belongs to an absence too', async () => {
    const url = site.page('<p id="none">Nothing</p>');
    const classify = { absent: [{ selector: '#none' }] };
    const result = await captureOnce(pool, profileOf(url, { classify }), { wantsProof: true });
    expect('proofHtml' in result && result.proofHtml).toContain('Nothing');
  });
});
