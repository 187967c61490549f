import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserPool } from '../browser/pool.ts';
import { listTree, readCommandLine } from '../browser/processes.ts';
import type { CaptureResult } from '../outcome.ts';
import type { Profile } from '../profile/profile.ts';
import {
  captureOnce,
  openPool,
  openSite,
  profileOf,
  streaming,
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

function capture(html: string, change: Partial<Profile> = {}, task: CaptureChange = {}): Promise<CaptureResult> {
  return captureOnce(pool, profileOf(site.page(html), change), task);
}

function textOf(result: CaptureResult): string {
  if ('answer' in result) return result.answer.text;
  throw new Error(`no answer, but ${JSON.stringify({ ...result, screenshot: undefined })}`);
}

/** The pool on a machine whose network is away for the first `times` requests of this URL. */
function withoutNetwork(url: string, times: number): BrowserPool {
  return {
    ...pool,
    lease: async (...args) => {
      const lease = await pool.lease(...args);
      await lease.page.route(url, (route) => route.abort('internetdisconnected'), { times });
      return lease;
    },
  };
}

const CHAT = `<div id="log"></div><button onclick="
  const answer = document.createElement('p');
  answer.className = 'answer';
  const field = document.querySelector('.field');
  answer.textContent = 'You asked: ' + JSON.stringify(field.value ?? field.innerText);
  document.querySelector('#log').append(answer);
">Send</button>`;

describe('a question', () => {
  it.each([
    ['a text field', '<input class="field">', 'plain "quotes" & <tags>', 'plain "quotes" & <tags>'],
    ['a text area', '<textarea class="field"></textarea>', 'one\ntwo\n\nfour', 'one\ntwo\n\nfour'],
    ['editable content', '<div class="field" contenteditable></div>', 'one\ntwo', 'one\ntwo'],
  ])('arrives whole in %s', async (_, field, query, arrived) => {
    const ask: Profile['ask'] = [{ fill: '.field', with: '{query}' }, { click: 'button' }];
    const result = await capture(field + CHAT, { ask }, { query });
    expect(textOf(result)).toBe(`You asked: ${JSON.stringify(arrived)}`);
  });

  it('that is typed breaks its lines without sending them', async () => {
    const field = `<textarea class="field" onkeydown="if (event.key === 'Enter' && !event.shiftKey) this.value = 'sent'"></textarea>`;
    const ask: Profile['ask'] = [{ type: '.field', with: '{query}' }, { click: 'button' }];
    expect(textOf(await capture(field + CHAT, { ask }, { query: 'one\ntwo' }))).toBe('You asked: "one\\ntwo"');
  });

  it('stands percent-encoded in the URL, and a parameter without a value is left out', async () => {
    site.on('/echo', ({ url }, response) => response.end(`<p class="answer">${encodeURI(url ?? '')}</p>`));
    const url = `${site.origin}/echo?q={query}&hl={language}`;
    expect(textOf(await captureOnce(pool, profileOf(url), { query: 'a&b=ü' }))).toBe('/echo?q=a%2526b%253D%25C3%25BC');
  });

  it('is not answered by what stood there before', async () => {
    const html = `<p class="answer">Welcome! Ask me anything.</p><input class="field">${CHAT}`;
    const ask: Profile['ask'] = [{ fill: '.field', with: '{query}' }, { click: 'button' }];
    expect(textOf(await capture(html, { ask }))).toBe('You asked: "best crm"');
  });

  it('can be asked once the consent overlay is refused, also when it comes late', async () => {
    const overlay = `<script>document.querySelector('.field').addEventListener('input', () => document.body.insertAdjacentHTML('beforeend',
      '<div id="consent" style="position:fixed;inset:0"><button onclick="this.parentNode.remove()">Reject</button></div>'), { once: true });</script>`;
    const ask: Profile['ask'] = [{ fill: '.field', with: '{query}' }, { click: 'body > button' }];
    const classify = { consent: [{ when: '#consent', dismiss: '#consent button' }] };
    expect(textOf(await capture(`<input class="field">${CHAT}${overlay}`, { ask, classify }))).toBe(
      'You asked: "best crm"',
    );
  });

  it('goes in the language of the region, and only that is reported as effective', async () => {
    site.on('/language', ({ headers }, response) => {
      const script = `<script>document.querySelector('i').textContent = navigator.language</script>`;
      response.end(`<p class="answer">${headers['accept-language'] ?? ''} <i></i></p>${script}`);
    });
    const region = { country: 'CH', city: 'Genève', language: 'fr-CH' };
    const result = await captureOnce(pool, profileOf(`${site.origin}/language`), { region });
    expect(textOf(result)).toBe('fr-CH fr-CH');
    expect(result).toMatchObject({ effectiveRegion: { language: 'fr-CH' } });
  });
});

describe('an answer is read when it is finished', () => {
  const pieces = ['One ', 'two ', 'three ', 'four.'];

  it.each<[string, string, Partial<Profile>, string]>([
    ['its text is quiet', `<p class="answer"></p>${streaming(pieces, 60)}`, {}, 'One two three four.'],
    [
      'its marker stands there, however long the text pauses',
      `<p class="answer"></p>${streaming(['One ', '', '', '', '', 'two.'], 80, `document.body.dataset.done = ''`)}`,
      { finished: { quietMs: 100, markers: [{ present: 'body[data-done]' }] } },
      'One two.',
    ],
    [
      'the stop button is gone',
      `<p class="answer"></p><b id="stop">Stop</b>${streaming(['One ', '', '', '', '', 'two.'], 80, `document.querySelector('#stop').hidden = true`)}`,
      { finished: { quietMs: 100, busy: '#stop' } },
      'One two.',
    ],
    [
      'late edits have come to rest',
      `<p class="answer"></p>${streaming(['Draft.'], 50, `setTimeout(() => document.querySelector('.answer').textContent = 'Final.', 100)`)}`,
      { finished: { quietMs: 300 } },
      'Final.',
    ],
    [
      'its node is replaced again and again',
      `<div id="app"></div><script>let n = 0; const timer = setInterval(() => {
        document.querySelector('#app').innerHTML = '<p class="answer">' + 'word '.repeat(++n) + '</p>';
        if (n === 5) clearInterval(timer); }, 60)</script>`,
      {},
      'word word word word word',
    ],
    [
      'it grows inside nested shadow roots',
      `<chat-app></chat-app><script>
        const app = document.querySelector('chat-app');
        setTimeout(() => {
          app.attachShadow({ mode: 'open' }).innerHTML = '<chat-turn></chat-turn>';
          const turn = app.shadowRoot.querySelector('chat-turn').attachShadow({ mode: 'open' });
          turn.innerHTML = '<p class="answer"></p>';
          let n = 0;
          const timer = setInterval(() => { turn.querySelector('p').append(' deep'); if (++n === 4) clearInterval(timer); }, 60);
        }, 50);</script>`,
      { read: { answer: 'chat-app chat-turn > .answer' } },
      'deep deep deep deep',
    ],
  ])('when %s', async (_, html, change, text) => {
    const result = await capture(html, change);
    expect(result.outcome).toBe('completed');
    expect(textOf(result)).toBe(text);
  });

  it('when the stream that carries it has ended', async () => {
    site.on('/stream', (_, response) => {
      response.write('first ');
      setTimeout(() => response.end('last'), 700);
    });
    const html = `<p class="answer"></p><script type="module">
      const reader = (await fetch('/stream')).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) document.querySelector('.answer').append(part.value);
    </script>`;
    const result = await capture(html, { finished: { quietMs: 100, streams: ['**/stream'] } });
    expect(textOf(result)).toBe('first last');
    expect('signals' in result && result.signals.map(({ name }) => name)).toContain('stream ended');
  });

  it('when the page moved on to another document to answer', async () => {
    site.on('/answered', (_, response) => setTimeout(() => response.end('<p class="answer">Moved.</p>'), 400));
    const ask: Profile['ask'] = [{ click: 'a' }];
    expect(textOf(await capture('<a href="/answered">Go</a>', { ask, finished: { quietMs: 50, graceMs: 100 } }))).toBe(
      'Moved.',
    );
  });
});

describe('a capture ends as', () => {
  it.each<[CaptureResult['outcome'], string, string, Partial<Profile>]>([
    [
      'partial',
      'text still grows at the deadline',
      `<p class="answer"></p>${streaming(
        Array.from({ length: 999 }, () => 'more '),
        40,
      )}`,
      {},
    ],
    [
      'timeout',
      'there is no text at the deadline',
      '<p class="answer"></p>',
      { finished: { quietMs: 50, markers: [{ present: '#done' }] } },
    ],
    [
      'timeout',
      'the page hangs',
      `<p class="answer">Text</p><script>setTimeout(() => { for (;;); }, 20)</script>`,
      { finished: { quietMs: 200 } },
    ],
    [
      'empty',
      'the page finished without text',
      '<p class="answer"></p><p id="done">',
      { finished: { quietMs: 50, graceMs: 100, markers: [{ present: '#done' }] } },
    ],
    [
      'absent',
      'the page says so, long before the deadline',
      '<p id="none">Nothing here</p>',
      { classify: { absent: [{ selector: '#none', text: 'nothing HERE' }] } },
    ],
    [
      'blocked',
      'the profile knows the refusal',
      '<h1>Just a moment</h1>',
      { classify: { blocked: [{ title: 'test', text: 'just a moment' }] } },
    ],
    [
      'unusable',
      'the page shows its marker of failure',
      '<p class="answer">Half</p><b id="error">Something went wrong</b>',
      { finished: { quietMs: 150, error: '#error' } },
    ],
    ['unusable', 'a selector of the profile is none', '<p class="answer">Text</p>', { read: { answer: '[[' } }],
  ])('%s when %s', async (outcome, _, html, change) => {
    const startMs = performance.now();
    const result = await capture(html, change, { timeoutMs: 4_000 });
    expect(result).toMatchObject({ outcome });
    expect(performance.now() - startMs).toBeLessThan(9_000);
    if (outcome === 'blocked')
      expect('screenshot' in result && Buffer.from(result.screenshot).toString('latin1', 1, 4)).toBe('PNG');
    if (outcome === 'partial') expect(textOf(result)).toMatch(/^more/);
  });

  it.each<[CaptureResult['outcome'], number]>([
    ['blocked', 403],
    ['blocked', 429],
    ['unusable', 404],
    ['unusable', 503],
  ])('%s at HTTP %i, when the profile says nothing else', async (outcome, status) => {
    const url = site.page('<p class="answer">An error page with text</p>', status);
    expect(await captureOnce(pool, profileOf(url))).toMatchObject({ outcome });
    const classify = { absent: [{ status: [status] }] };
    expect(await captureOnce(pool, profileOf(url, { classify }))).toMatchObject({ outcome: 'absent' });
  });

  it('timeout with what the page lacked, for whoever runs the lane', async () => {
    const lacking = site.page('down', 503);
    const html = `<p class="answer"></p><script>fetch('${lacking}?key=secret')</script><script src="http://127.0.0.1:1/brain.js"></script>`;
    const finished = { quietMs: 50, markers: [{ present: '#done' }] };
    const result = await capture(html, { finished }, { timeoutMs: 2_500 });
    expect(result).toMatchObject({ outcome: 'timeout' });
    const names = result.signals?.map(({ name }) => name);
    expect(names).toContain(`request failed: ${lacking} (503)`);
    expect(names).toContainEqual(
      expect.stringMatching(/^request failed: http:\/\/127\.0\.0\.1:1\/brain\.js \(net::ERR_\w+\)$/),
    );
  });

  it.each<[CaptureResult['outcome'], string, number]>([
    ['completed', 'the page came at the third try', 2],
    ['crashed', 'it never did', 3],
  ])("%s when the machine's own network was in the way and %s", async (outcome, _, times) => {
    const url = site.page('<p class="answer">Here at last</p>');
    const result = await captureOnce(withoutNetwork(url, times), profileOf(url));
    expect(result).toMatchObject({ outcome });
    if (outcome === 'completed') expect(textOf(result)).toBe('Here at last');
  });

  it("crashed, and not late, when the machine's own network kept from the page what it answers with", async () => {
    const answering = site.page('document.querySelector(".answer").textContent = "Here"');
    const url = site.page(`<p class="answer"></p><script>fetch('${answering}')</script>`);
    const finished = { quietMs: 50, markers: [{ present: '#done' }] };
    const profile = profileOf(url, { finished });
    expect(await captureOnce(withoutNetwork(answering, 1), profile, { timeoutMs: 2_000 })).toMatchObject({
      outcome: 'crashed',
      detail: "The network of the lane's machine changed while the page was open.",
    });
  });

  it('unusable when nothing answers at the URL', async () => {
    const result = await captureOnce(pool, profileOf('http://127.0.0.1:1/'));
    // No call of the driver, and no address: tenants read this.
    const detail: unknown = expect.stringMatching(/^The page could not be opened: net::ERR_\w+$/);
    expect(result).toMatchObject({ outcome: 'unusable', detail });
  });

  it('canceled as soon as it is told to stop', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 300);
    const startMs = performance.now();
    const endless = `<p class="answer"></p>${streaming(
      Array.from({ length: 999 }, () => 'more '),
      40,
    )}`;
    expect(await capture(endless, {}, { signal: stop.signal })).toMatchObject({ outcome: 'canceled' });
    expect(performance.now() - startMs).toBeLessThan(2_000);
    expect(await capture(endless, {}, { signal: AbortSignal.abort() })).toMatchObject({ outcome: 'canceled' });
  });

  it('crashed when the renderer dies, and the next capture is none the worse', async () => {
    const own = await openPool({ concurrency: 1 });
    try {
      site.on('/kill', (_, response) => {
        response.end();
        void killRenderers(own);
      });
      const finished = { quietMs: 100, markers: [{ present: '#never' }] };
      const url = site.page(`<p class="answer">Soon dead</p><script>fetch('/kill')</script>`);
      const dead = await captureOnce(own, profileOf(url, { finished }));
      expect(dead).toMatchObject({ outcome: 'crashed' });
      const next = await captureOnce(own, profileOf(site.page('<p class="answer">Alive</p>')));
      expect(textOf(next)).toBe('Alive');
    } finally {
      await own.close();
    }
  });
});

async function killRenderers(own: BrowserPool): Promise<void> {
  for (const group of own.processGroups()) {
    for (const pid of await listTree(group)) {
      if ((await readCommandLine(pid)).join(' ').includes('--type=renderer')) process.kill(pid, 'SIGKILL');
    }
  }
}
