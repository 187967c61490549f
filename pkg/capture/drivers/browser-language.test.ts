import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserPool } from '../browser/pool.ts';
import type { CaptureResult } from '../outcome.ts';
import { parseProfile } from '../profile/parse.ts';
import type { Profile } from '../profile/profile.ts';
import { openSockets } from './browser/sockets-for-tests.ts';
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
  return captureProfile(profileOf(site.page(html), change), task);
}

/** By the parser too, so that no test speaks a language that a document can't. */
function captureProfile(profile: Profile, task: CaptureChange = {}): Promise<CaptureResult> {
  return captureOnce(pool, parseProfile(profile, 'profile'), { timeoutMs: 15_000, ...task });
}

function textOf(result: CaptureResult): string {
  if ('answer' in result) return result.answer.text;
  throw new Error(`no answer, but ${JSON.stringify({ ...result, screenshot: undefined })}`);
}

function sourcesOf(result: CaptureResult) {
  if (!('answer' in result)) throw new Error(`no answer, but ${JSON.stringify({ ...result, screenshot: undefined })}`);
  const { answer, evidence } = result;
  return evidence.sources.map(({ url, title, role, charRanges }) => ({
    ...{ url, title, role },
    texts: charRanges.map(({ start, end }) => answer.text.slice(start, end)),
  }));
}

function signalsOf(result: CaptureResult): string[] {
  return (result.signals ?? []).map(({ name }) => name);
}

const ASK: Profile['ask'] = [{ fill: '.field', with: '{query}' }, { click: '#send' }];
/** A chat that answers `You asked: …` a moment after the button. */
const CHAT = `<input class="field"><button id="send">Send</button><div id="log"></div><script>
  document.querySelector('#send').onclick = () => setTimeout(() => {
    const text = document.querySelector('.field').value;
    document.querySelector('#log').innerHTML += '<p class="own">' + text + '</p><p class="answer">You asked: ' + text + '</p>';
  }, 50);
</script>`;

describe('go', () => {
  it('posts a form once, and what follows is not posted', async () => {
    const seen: string[] = [];
    site.on('/form', (request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        seen.push(`${request.method} ${request.headers['content-type'] ?? ''} ${body}`);
        response.end(`<p class="answer">Posted</p>${seen.length === 1 ? '<script>fetch("/form")</script>' : ''}`);
      });
    });
    const go: Profile['go'] = {
      url: `${site.origin}/form`,
      method: 'POST',
      form: { q: '{query}', hl: '{language}', n: '1' },
    };
    const result = await captureProfile(profileOf('', { go }), { query: 'a&b=ü' });
    expect(textOf(result)).toBe('Posted');
    expect(seen).toEqual(['POST application/x-www-form-urlencoded q=a%26b%3D%C3%BC&n=1', 'GET  ']);
  });

  it('posts JSON, its texts filled in as they are', async () => {
    let seen: unknown;
    site.on('/json', (request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        seen = JSON.parse(body);
        response.end('<p class="answer">Posted</p>');
      });
    });
    const json = { messages: [{ role: 'user', text: '{query}' }], gl: '{country}', n: 3 };
    await captureProfile(profileOf('', { go: { url: `${site.origin}/json`, method: 'POST', json } }), {
      query: 'a "b"\nc',
    });
    expect(seen).toEqual({ messages: [{ role: 'user', text: 'a "b"\nc' }], n: 3 });
  });

  it('sends headers and cookies, secret ones to its own site only', async () => {
    const seen: Record<string, unknown>[] = [];
    const other = await openSite();
    const note = ({ headers }: { headers: Record<string, unknown> }) =>
      seen.push({ key: headers['x-key'], lang: headers['x-lang'], cookie: headers['cookie'] });
    other.on('/beside', (request, response) => {
      note(request);
      response.setHeader('access-control-allow-origin', '*').setHeader('access-control-allow-headers', '*').end();
    });
    site.on('/secret', (request, response) => {
      note(request);
      response.end(`<p class="answer">x</p><script>fetch('${other.origin}/beside', { mode: 'no-cors' })</script>`);
    });
    try {
      const go: Profile['go'] = {
        url: `${site.origin}/secret`,
        headers: { 'x-key': { env: 'ENGINE_KEY' }, 'x-lang': '{language}', 'x-none': '{city}' },
        cookies: [
          { name: 'session', value: { env: 'ENGINE_SESSION' } },
          { name: 'hl', value: '{language}' },
        ],
      };
      const profile = profileOf('', { go });
      const secrets = new Map([
        ['ENGINE_KEY', 'k-1'],
        ['ENGINE_SESSION', 's-1'],
      ]);
      const allowHosts = [new URL(other.origin).host];
      await captureProfile(profile, { region: { country: 'DE', language: 'de' }, secrets, allowHosts });
      expect(seen[0]).toEqual({ key: 'k-1', lang: 'de', cookie: 'session=s-1; hl=de' });
      expect(seen.slice(1).map(({ key }) => key)).toEqual(seen.slice(1).map(() => undefined));
    } finally {
      await other.close();
    }
  });

  it('asks in the language that the profile fixes', async () => {
    const html = `<p class="answer"></p><script>document.querySelector('.answer').append(navigator.language)</script>`;
    const go = { url: site.page(html), locale: 'sv-SE' };
    const result = await captureProfile(profileOf('', { go }), { region: { country: 'DE', language: 'de' } });
    expect(textOf(result)).toBe('sv-SE');
  });
});

describe('fetch', () => {
  it('aborts by type and URL, and lets only what it lists through', async () => {
    const asked: string[] = [];
    for (const path of ['/a.gif', '/ads/x', '/api/x', '/other/x'])
      site.on(path, (_, response) => {
        asked.push(path);
        response.end();
      });
    const html = `<img src="/a.gif"><p class="answer"></p><script>
      const get = (path) => fetch(path).then(() => path + ' ok ', () => path + ' no ');
      Promise.all(['/ads/x', '/api/x', '/other/x'].map(get)).then((said) => document.querySelector('.answer').append(...said));
    </script>`;
    const all = await capture(html, { fetch: { abortTypes: ['image'], abortUrls: ['**/ads/**'] } });
    expect(textOf(all)).toBe('/ads/x no /api/x ok /other/x ok');
    const few = await capture(html, { fetch: { allowUrls: ['**/api/*'] } });
    expect(textOf(few)).toBe('/ads/x no /api/x ok /other/x no');
    expect(asked.filter((path) => path === '/a.gif' || path === '/ads/x')).toEqual([]);
  });
});

describe('steps', () => {
  it('select, hover, scroll, wait for what comes and for what goes, and leave out what is optional', async () => {
    const html = `<div id="veil" style="height:9px">wait</div><nav>menu</nav><div style="height:3000px"></div>
      <select hidden><option>none</option></select><select id="kind"><option value="a">A</option><option value="b">B</option></select><footer>foot</footer>
      <button id="send">Send</button><p class="answer"></p><script>
      const did = [];
      setTimeout(() => { document.querySelector('#veil').remove(); did.push('gone'); }, 300);
      setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<i id="late">late</i>'), 400);
      document.querySelector('nav').onmouseenter = () => did.push('hover');
      document.querySelector('#kind').onchange = (event) => did.push(event.target.value);
      new IntersectionObserver(([entry]) => { if (entry.isIntersecting) did.push('scrolled'); }).observe(document.querySelector('footer'));
      document.querySelector('#send').onclick = () => document.querySelector('.answer').append(did.join(' '));
    </script>`;
    const ask: Profile['ask'] = [
      { waitGone: '#veil' },
      { waitFor: '#late' },
      { hover: 'nav' },
      { select: '#kind', option: 'B' },
      { scroll: 'footer' },
      { click: '.no-such-thing', optional: true },
      { fill: '.no-field', with: '{query}', optional: true },
      { click: '#send' },
    ];
    expect(textOf(await capture(html, { ask }))).toMatch(/^gone hover b( scrolled)?$/);
  });

  it('act on the twin that is to be seen, by what it says', async () => {
    const html = `<input class="field" hidden><input class="field"><button style="display:none">Send</button><button>Clear</button>
      <button onclick="document.querySelector('.answer').append('Got ' + document.querySelectorAll('.field')[1].value)"><b>Send</b> it</button><p class="answer"></p>`;
    const ask: Profile['ask'] = [{ fill: '.field', with: '{query}' }, { click: 'button:has-text("send")' }];
    expect(textOf(await capture(html, { ask }))).toBe('Got best crm');
  });

  it('type a long question whole, also into editable content, lines kept', async () => {
    const html = `<div class="field" contenteditable onkeydown="if (event.key === 'Enter' && !event.shiftKey) this.textContent = 'sent'"></div>
      <button id="send" onclick="document.querySelector('.answer').append(document.querySelector('.field').innerText)">Send</button>
      <p class="answer" style="white-space:pre-wrap"></p>`;
    const query = `${'bicycle '.repeat(120)}!\nlast line`;
    const ask: Profile['ask'] = [{ type: '.field', with: '{query}' }, { click: '#send' }];
    const text = textOf(await capture(html, { ask }, { query, timeoutMs: 40_000 }));
    expect(text.replace(/\u00A0/g, ' ')).toBe(query);
  });

  it('fill in where a page listens to keys', async () => {
    const html = `<input class="field" onkeyup="document.querySelector('.answer').textContent = 'Found ' + this.value"><p class="answer"></p>`;
    expect(textOf(await capture(html, { ask: [{ fill: '.field', with: '{query}' }] }))).toBe('Found best crm');
  });

  it('fill in again what a page that was still starting has emptied', async () => {
    const result = await capture(
      `<input class="field"><button id="send" disabled>Send</button><div id="log"></div><script>
      const field = document.querySelector('.field'), send = document.querySelector('#send');
      field.addEventListener('input', function forget() {
        field.removeEventListener('input', forget);
        setTimeout(() => {
          field.value = '';
          field.addEventListener('input', () => (send.disabled = field.value === ''));
        }, 100);
      });
      send.onclick = () => (document.querySelector('#log').innerHTML += '<p class="answer">You asked: ' + field.value + '</p>');
    </script>`,
      { ask: ASK },
    );
    expect(textOf(result)).toBe('You asked: best crm');
    expect(signalsOf(result)).toContain('filled in again');
  });

  it('that fail say which one, and that nothing matches', async () => {
    const result = await capture('<p>x</p>', { ask: [{ click: '#no-such' }] }, { timeoutMs: 6_000 });
    expect(result).toMatchObject({
      detail: 'Step 1 of ask (click #no-such) did not work: nothing in the page matches',
    });
  });
});

/** A site of its own makes the iframe foreign: another process of the browser, where nothing of the page reaches. */
describe.each(['the same site', 'another site'])('an answer in an iframe of %s', (place) => {
  let inner: Site;
  beforeAll(async () => {
    inner = place === 'the same site' ? site : await openSite();
  });
  afterAll(async () => {
    if (inner !== site) await inner.close();
  });
  const at = (url: string): string => (inner === site ? url : url.replace('127.0.0.1', 'localhost'));
  const allow = (): CaptureChange => ({ allowHosts: [new URL(at(inner.origin)).host] });

  it('is asked, waited for and read, the list beside it too', async () => {
    const chat = inner.page(`${CHAT}<script>document.querySelector('#send').addEventListener('click', () => {
      document.body.dataset.state = 'busy'; setTimeout(() => { document.querySelector('.answer').append(' <late>'); delete document.body.dataset.state; }, 700); });</script>`);
    const html = `<div id="consent" style="position:fixed;inset:0;background:#fff"><button>Accept</button><button onclick="this.parentNode.remove()">Reject</button></div>
      <p class="answer">not this one</p><button id="open">Chat</button><ul></ul><script>
      document.querySelector('#open').onclick = () => {
        document.body.insertAdjacentHTML('beforeend', '<x-w></x-w>');
        document.querySelector('x-w').attachShadow({ mode: 'open' }).innerHTML = '<iframe class="chat" src="${at(chat)}"></iframe>';
        setTimeout(() => { document.querySelector('ul').innerHTML = '<li><a href="https://one.example/">One</a></li>'; document.body.id = 'done'; }, 1500);
      };</script>`;
    const frame = 'x-w iframe.chat';
    const result = await capture(
      html,
      {
        ask: [{ click: '#open' }, { fill: `${frame} >>> .field`, with: '{query}' }, { click: `${frame} >>> #send` }],
        finished: { quietMs: 150, busy: `${frame} >>> body[data-state]`, markers: [{ present: '#done' }] },
        read: {
          answer: `${frame} >>> .answer`,
          citations: [{ item: 'li', where: 'listed', role: 'reference', link: 'a' }],
        },
        classify: {
          consent: [{ when: '#consent', dismiss: ['#consent button:has-text("reject")', '#consent button'] }],
        },
      },
      allow(),
    );
    expect(textOf(result)).toBe('You asked: best crm <late>');
    expect(sourcesOf(result)).toEqual([{ url: 'https://one.example/', title: 'One', role: 'reference', texts: [] }]);
    expect(signalsOf(result)).toContain('consent dismissed by #consent button:has-text("reject")');
    expect(signalsOf(result)).toContain('marker 1 (present #done)');
  });

  it('is given up when the page around it refuses us', async () => {
    const frame = inner.page(
      `<p class="answer">Half</p>${streaming(
        Array.from({ length: 99 }, () => 'more '),
        50,
      )}`,
    );
    const html = `<iframe src="${at(frame)}"></iframe><script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<b id="wall">Sign in</b>'), 600)</script>`;
    const result = await capture(
      html,
      { read: { answer: 'iframe >>> .answer' }, classify: { signIn: [{ selector: '#wall' }] } },
      allow(),
    );
    expect(result).toMatchObject({ outcome: 'blocked', detail: expect.stringContaining('asks to sign in') });
  });

  it('that never comes is a timeout', async () => {
    const result = await capture('<p>x</p>', { read: { answer: 'iframe >>> .answer' } }, { timeoutMs: 1_500 });
    expect(result).toMatchObject({ outcome: 'timeout' });
  });
});

describe('which text is the answer', () => {
  it.each<[string, string, Partial<Profile['read']>, string]>([
    ['neither a greeting nor our own words, where one selector matches all', '#log p', {}, 'You asked: best crm'],
    ['what stands after our question', '#log p, .answer', { question: '.own' }, 'You asked: best crm'],
    ['what says a word', '#log p:has-text("ASKED: best")', {}, 'You asked: best crm'],
  ])('%s', async (_, answer, read, text) => {
    const html = `<p class="answer">Welcome!</p>${CHAT}<p class="answer">An advertisement</p>`.replace(
      '</p><script>',
      '</p><script>',
    );
    expect(textOf(await capture(html, { ask: ASK, read: { answer, ...read } }))).toBe(text);
  });

  it('not our own words, while the engine has not begun', async () => {
    const html = `<input class="field"><button id="send">Send</button><div id="log"></div><script>
      document.querySelector('#send').onclick = () => {
        document.querySelector('#log').innerHTML = '<p>' + document.querySelector('.field').value + '</p>';
        setTimeout(() => document.querySelector('#log').insertAdjacentHTML('beforeend', '<p>At last.</p>'), 900);
      };</script>`;
    expect(textOf(await capture(html, { ask: ASK, read: { answer: '#log p' } }))).toBe('At last.');
  });

  it('an engine that repeats the question, where the page shows the question too', async () => {
    const html = CHAT.replace('You asked: ', '');
    expect(textOf(await capture(html, { ask: ASK, read: { answer: '.answer' } }))).toBe('best crm');
  });

  it('the same answer given again, though it stood there before', async () => {
    const html = `<p class="answer">You asked: best crm</p>${CHAT}`;
    expect(textOf(await capture(html, { ask: ASK }))).toBe('You asked: best crm');
  });

  it('without names of icons and handles of headings', async () => {
    const html = `<div class="answer"><h2>Title<a class="headerlink" href="#title">¶</a></h2><p>Text <span style="font-family:'Material Icons'">content_copy</span></p></div>`;
    expect(textOf(await capture(html))).toBe('Title\n\nText');
  });
});

describe('a finished answer', () => {
  it('has a text marker, and waits for it', async () => {
    const html = `<b id="state">Thinking</b><p class="answer"></p>${streaming(['One ', '', '', '', 'two.'], 120, `document.querySelector('#state').textContent = 'All DONE now'`)}`;
    const result = await capture(html, { finished: { quietMs: 100, markers: [{ text: 'all done', of: '#state' }] } });
    expect(textOf(result)).toBe('One two.');
    expect(signalsOf(result)).toContain('marker 1 (text "all done" of #state)');
  });

  const MARKERS: [NonNullable<Profile['finished']['markers']>[number], string, string][] = [
    [{ present: '#flag i' }, '<b id="flag"></b>', `flag.innerHTML = '<i></i>'`],
    [{ gone: '#flag' }, '<b id="flag">Stop</b>', 'flag.remove()'],
    [{ visible: '#flag' }, '<b id="flag" style="visibility:hidden">Copy</b>', `flag.style.visibility = 'visible'`],
    [{ hidden: '#flag' }, '<b id="flag">Stop</b>', `flag.style.display = 'none'`],
    [{ attribute: 'data-s', of: '#flag', is: 'done' }, '<b id="flag" data-s="on"></b>', `flag.dataset.s = 'done'`],
    [{ text: 'done', of: '#flag' }, '<b id="flag">Working</b>', `flag.textContent = 'Done'`],
  ];

  it.each(MARKERS)('waits for %j, and tells when it held', async (marker, flag, atEnd) => {
    const html = `${flag}<p class="answer"></p>${streaming(['One ', '', '', '', '', 'two.'], 80, atEnd)}`;
    const result = await capture(html, { finished: { quietMs: 100, markers: [marker] } });
    expect(textOf(result)).toBe('One two.');
    const times = new Map((result.signals ?? []).map(({ name, atMs }) => [name.replace(/ \(.*/s, ''), atMs]));
    expect(times.get('marker 1')).toBeGreaterThan(times.get('text') ?? Infinity);
    expect(times.get('quiet')).toBeGreaterThanOrEqual(times.get('marker 1') ?? Infinity);
  });

  // Some at once, because each takes its whole time; no more than the pool has room for, as waiting takes from it too.
  it.each([[MARKERS.slice(0, 3)], [MARKERS.slice(3)]])(
    'is partial at the deadline where %j never held',
    async (some) => {
      const results = await Promise.all(
        some.map(([marker, flag]) =>
          capture(
            `${flag}<p class="answer">Text</p>`,
            { finished: { quietMs: 100, markers: [marker] } },
            { timeoutMs: 6_000 },
          ),
        ),
      );
      expect(results.map((result) => [result.outcome, signalsOf(result)])).toEqual(
        some.map(() => ['partial', ['text', expect.stringMatching(/^missing: marker 1/)]]),
      );
    },
  );

  it('that is none at the deadline says all that was missing', async () => {
    const html = '<b id="stop">Stop</b><p class="answer"></p>';
    const finished = { quietMs: 100, busy: '#stop', markers: [{ present: '#end' }] };
    const result = await capture(html, { finished }, { timeoutMs: 5_000 });
    expect(result).toMatchObject({ outcome: 'timeout' });
    expect(signalsOf(result).filter((name) => name.startsWith('missing'))).toEqual([
      'missing: marker 1 (present #end)',
      'missing: busy (#stop) is still to be seen',
      'missing: text',
    ]);
  });

  it('waits for citations that come after the text has come to rest', async () => {
    const html = `<p class="answer">Fact.</p><ul></ul><script>
      setTimeout(() => document.querySelector('ul').innerHTML = '<li><a href="https://a.example/">A</a></li>', 150);
      setTimeout(() => document.querySelector('ul').innerHTML += '<li><a href="https://b.example/">B</a></li>', 350);</script>`;
    const citations = [{ item: 'li', where: 'listed', role: 'reference' }] satisfies Profile['read']['citations'];
    const result = await capture(html, { finished: { quietMs: 400 }, read: { answer: '.answer', citations } });
    expect(sourcesOf(result).map(({ title }) => title)).toEqual(['A', 'B']);
  });

  it('shows what its scripts bring late, once they are there', async () => {
    site.on('/late.js', (_, response) => {
      setTimeout(() => {
        response.setHeader('content-type', 'text/javascript');
        response.end(`setTimeout(() => document.querySelector('.answer').append(' and code'), 300)`);
      }, 700);
    });
    const html = `<input class="field"><button id="send">Send</button><p class="answer"></p><script>
      document.querySelector('#send').onclick = () => { document.querySelector('.answer').append('Text'); import('/late.js'); };</script>`;
    expect(textOf(await capture(html, { ask: ASK }))).toBe('Text and code');
  });
});

describe('a stream', () => {
  const pieces = (write: (text: string) => void, end: () => void): void => {
    write('first ');
    setTimeout(() => write('second '), 600);
    setTimeout(end, 900);
  };

  it('of events counts until it ends, and a page may abort it', async () => {
    site.on('/events', (_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      pieces(
        (text) => response.write(`data: ${text}\n\n`),
        () => response.write('data: end\n\n'),
      );
    });
    const html = `<p class="answer"></p><script>const events = new EventSource('/events');
      events.onmessage = ({ data }) => data === 'end' ? events.close() : document.querySelector('.answer').append(data + ' ');</script>`;
    const result = await capture(html, { finished: { quietMs: 100, streams: ['**/events'] } });
    expect(textOf(result)).toBe('first second');
    expect(signalsOf(result)).toEqual(expect.arrayContaining(['stream opened', 'stream aborted']));
  });

  it('of a web socket counts until it is silent, or says that it ends', async () => {
    const closeSockets = openSockets(site, (write) =>
      pieces(
        (text) => write(text),
        () => write('[end]'),
      ),
    );
    const html = `<p class="answer"></p><script>const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket');
      socket.onmessage = ({ data }) => { if (data !== '[end]') document.querySelector('.answer').append(data); };</script>`;
    const said = await capture(html, { finished: { quietMs: 100, streams: [{ url: '**/socket', ends: '[end]' }] } });
    expect(textOf(said)).toBe('first second');
    expect(signalsOf(said)).toEqual(expect.arrayContaining(['socket opened', 'socket said its end']));
    const silent = await capture(html, { finished: { quietMs: 700, streams: ['**/socket'] } });
    expect(textOf(silent)).toBe('first second');
    closeSockets();
  });
});

describe('citations', () => {
  it('of footnotes lead to the entry that they name', async () => {
    const html = `<div class="answer"><p>Fact one.<sup><a href="#fn-b">1</a></sup> Fact two.<sup><a href="#fn-a">2</a></sup></p></div>
      <ol><li id="fn-a"><a href="https://a.example/">A</a></li><li id="fn-b"><a href="https://b.example/">B</a></li></ol>`;
    const citations = [
      { item: 'sup a', where: 'inline', role: 'citation', refersBy: 'href' },
      { item: 'ol li', where: 'listed', role: 'reference', refersBy: 'id' },
    ] satisfies Profile['read']['citations'];
    const result = await capture(html, { read: { answer: '.answer', citations } });
    expect(textOf(result)).toBe('Fact one. Fact two.');
    expect(sourcesOf(result)).toMatchObject([
      { url: 'https://b.example/', title: 'B', role: 'citation', texts: ['Fact one.'] },
      { url: 'https://a.example/', title: 'A', role: 'citation', texts: ['Fact two.'] },
    ]);
  });

  it.each(['click', 'hover'] as const)('that show their link on %s are asked, one after the other', async (by) => {
    const html = `<p class="answer">Fact one. <b class="chip">1</b> Fact two. <b class="chip">2</b></p><div id="card" hidden></div><script>
      document.querySelectorAll('.chip').forEach((chip, index) => chip['on${by === 'click' ? 'click' : 'mouseenter'}'] = () => setTimeout(() => {
        card.hidden = false; card.innerHTML = '<a href="https://s' + index + '.example/">Site ' + index + '</a>'; }, 40));
      addEventListener('keydown', ({ key }) => { if (key === 'Escape') card.hidden = true; });</script>`;
    const citations = [
      { item: '.chip', where: 'inline', role: 'citation', chip: true, reveal: { by, shows: '#card' } },
    ] satisfies Profile['read']['citations'];
    const result = await capture(html, { read: { answer: '.answer', citations } });
    expect(textOf(result)).toBe('Fact one. Fact two.');
    expect(sourcesOf(result)).toEqual([
      { url: 'https://s0.example/', title: 'Site 0', role: 'citation', texts: ['Fact one.'] },
      { url: 'https://s1.example/', title: 'Site 1', role: 'citation', texts: ['Fact two.'] },
    ]);
    expect(signalsOf(result)).toContain('links revealed');
  });

  it('in lists that are closed are read once all of them were opened', async () => {
    const list = (n: number): string =>
      `<details><summary>More ${n}</summary><a href="https://${n}.example/#x">N${n}</a></details>`;
    const html = `<p class="answer">Fact.</p>${list(1)}${list(2)}`;
    const citations = [
      { item: 'details a:visible', where: 'listed', role: 'related' },
    ] satisfies Profile['read']['citations'];
    const read: Profile['read'] = { answer: '.answer', citations };
    expect(sourcesOf(await capture(html, { read }))).toEqual([]);
    const opened = await capture(html, { read: { ...read, before: [{ click: 'summary', all: true }] } });
    expect(sourcesOf(opened)).toMatchObject([
      { url: 'https://1.example/#x', title: 'N1', role: 'related' },
      { url: 'https://2.example/#x', title: 'N2', role: 'related' },
    ]);
  });
});

describe('results', () => {
  it('need nothing but a link, which may be around the entry, and keep their order', async () => {
    const html = `<a href="/one?x=1#part"><div class="hit"><h3>One</h3></div></a><div class="hit"><a href="https://two.example/">Two</a></div>`;
    const result = await capture(html, { read: { results: { item: '.hit', title: 'h3' } } });
    expect(sourcesOf(result).map(({ url }) => url)).toEqual([`${site.origin}/one?x=1#part`, 'https://two.example/']);
  });
});

describe('before leaving', () => {
  it('the last steps are made, also when the time is over', async () => {
    const left: string[] = [];
    site.on('/left', (_, response) => {
      left.push('stopped');
      response.end();
    });
    const endless = Array.from({ length: 999 }, () => 'more ');
    const html = `<button id="stop" onclick="fetch('/left')">Stop</button><p class="answer"></p>${streaming(endless, 40)}`;
    const read: Profile['read'] = { answer: '.answer', leave: [{ click: '#stop' }] };
    const result = await capture(html, { read }, { timeoutMs: 4_000 });
    expect(result).toMatchObject({ outcome: 'partial' });
    expect(left).toEqual(['stopped']);
    const quick = await capture('<p class="answer">x</p>', {
      read: { answer: '.answer', leave: [{ click: '#none' }] },
    });
    expect(quick).toMatchObject({ outcome: 'completed' });
  });

  it('what the last steps make the page send is answered', async () => {
    const ends: string[] = [];
    site.on('/left-slowly', (_, response) => {
      setTimeout(() => {
        ends.push(response.destroyed ? 'cut off' : 'answered');
        response.end();
      }, 300);
    });
    const html = `<button id="stop" onclick="fetch('/left-slowly')">Stop</button><p class="answer">x</p>`;
    await capture(html, { read: { answer: '.answer', leave: [{ click: '#stop' }] } });
    expect(ends).toEqual(['answered']);
  });
});

describe('a page without an answer', () => {
  it.each<[CaptureResult['outcome'], string, NonNullable<Profile['classify']>]>([
    ['blocked', '<p class="answer">x</p>', { signIn: [{ title: 'TEST' }] }],
    ['blocked', '<p class="answer">x</p>', { blocked: [{ url: '**/page-*' }] }],
    ['unusable', '<p class="answer">x</p><b>Something went wrong</b>', { error: [{ text: 'went   WRONG' }] }],
    ['absent', '<p class="answer">x</p><b>No answer today</b>', { absent: [{ selector: 'b:has-text("no answer")' }] }],
  ])('is %s: %s', async (outcome, html, classify) => {
    expect(await capture(html, { classify })).toMatchObject({ outcome });
  });

  it('is not taken for one by what it hides', async () => {
    const html = '<div id="wall" hidden>Sign in</div><p class="answer">Text</p>';
    expect(textOf(await capture(html, { classify: { signIn: [{ selector: '#wall:visible' }] } }))).toBe('Text');
  });
});

describe('consent', () => {
  it('is refused in as many steps as that takes', async () => {
    const html = `<div id="cmp" style="position:fixed;inset:0;background:#fff"><button id="yes" onclick="document.title='accepted';cmp.remove()">Accept all</button>
      <button id="more" onclick="this.insertAdjacentHTML('afterend', '<button id=no onclick=cmp.remove()>Reject all</button>')">Settings</button></div>${CHAT}`;
    const consent = [{ when: '#cmp', steps: [{ click: '#more' }, { click: '#no' }] }] satisfies NonNullable<
      NonNullable<Profile['classify']>['consent']
    >;
    const result = await capture(html, { ask: ASK, classify: { consent } });
    expect(textOf(result)).toBe('You asked: best crm');
    expect(signalsOf(result)).toContain('consent dismissed');
  });
});
