import { createSocket } from 'node:dgram';
import { createServer, type AddressInfo } from 'node:net';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chromium } from 'playwright-core';
import { Server as ProxyServer } from 'proxy-chain';
import { systemClock } from '../../runtime/index.ts';
import { locateBrowser } from '../browser/locate.ts';
import type { BrowserPool } from '../browser/pool.ts';
import { until } from '../browser/until-for-tests.ts';
import type { EgressOptions } from '../egress/egress.ts';
import type { Refusal } from '../egress/guard.ts';
import type { CaptureResult, CaptureTask } from '../outcome.ts';
import { createBrowserDriver } from './browser.ts';
import { openPool, openSite, profileOf, testLog, type Site } from './browser/surface-for-tests.ts';

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

async function capture(
  url: string,
  egress: EgressOptions = {},
  change: Partial<CaptureTask> = {},
): Promise<CaptureResult> {
  const driver = createBrowserDriver({ profile: profileOf(url), pool, egress, clock: systemClock, log: testLog });
  const task: CaptureTask = {
    captureId: 'job_1.assistant_one.GLOBAL',
    surface: 'assistant_one',
    query: 'best crm',
    region: null,
    wantsProof: false,
    timeoutMs: 15_000,
    ...change,
  };
  try {
    return await driver.capture(task, new AbortController().signal);
  } finally {
    await driver.close();
  }
}

function textOf(result: CaptureResult): string {
  if ('answer' in result) return result.answer.text;
  throw new Error(`no answer, but ${JSON.stringify({ ...result, screenshot: undefined })}`);
}

/** Counts who comes, by TCP and by UDP, and answers nobody. */
async function openDecoy() {
  const hits = { tcp: 0, udp: 0 };
  const tcp = createServer((socket) => {
    hits.tcp += 1;
    socket.on('error', () => socket.destroy());
    socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n');
  });
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4', () => (hits.udp += 1));
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve));
  const close = (): void => {
    tcp.close();
    udp.close();
  };
  return { host: `127.0.0.1:${port}`, port, hits, close };
}

const rtc = (host: string): string => `
  const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:${host}' },
    { urls: ['turn:${host}?transport=udp', 'turn:${host}?transport=tcp'], username: 'u', credential: 'p' }] });
  peer.createDataChannel('x');
  peer.createOffer().then((offer) => peer.setLocalDescription(offer));`;

/** Tries every way out of a page that we know, then shows an answer. */
const escaping = (host: string, redirector: string): string => `
  <link rel="preconnect" href="http://${host}/"><link rel="dns-prefetch" href="//${host}/">
  <link rel="prefetch" href="http://${host}/prefetch"><link rel="stylesheet" href="http://${host}/style">
  <style>@import url(http://${host}/import); p { background: url(http://${host}/image) }
    @font-face { font-family: x; src: url(http://${host}/font) } p { font-family: x }</style>
  <p>x</p><img src="http://${host}/img"><video src="http://${host}/video" preload="auto"></video>
  <iframe src="http://${host}/frame"></iframe><iframe src="${redirector}"></iframe>
  <iframe srcdoc="<meta http-equiv=refresh content='0;url=http://${host}/refresh'>"></iframe>
  <iframe name="target"></iframe><form method="post" target="target" action="http://${host}/form"></form>
  <script>
    document.forms[0].submit();
    const ignore = () => {};
    fetch('http://${host}/fetch', { mode: 'no-cors' }).catch(ignore);
    const request = new XMLHttpRequest(); request.open('GET', 'http://${host}/xhr'); request.send();
    navigator.sendBeacon('http://${host}/beacon', 'x');
    new WebSocket('ws://${host}/socket'); new EventSource('http://${host}/events');
    new Worker(URL.createObjectURL(new Blob(["fetch('http://${host}/worker', { mode: 'no-cors' })"])));
    open('http://${host}/popup');
    ${rtc(host)}
    setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<p class="answer">done</p>'), 1500);
  </script>`;

describe('a page reaches the network through its guard only', () => {
  it('which refuses what the lane does not list, whichever way the page tries', async () => {
    const decoy = await openDecoy();
    try {
      site.on('/away', (_, response) => response.writeHead(302, { location: `http://${decoy.host}/redirected` }).end());
      const url = site.page(escaping(decoy.host, `${site.origin}/away`));
      const refusals: Refusal[] = [];
      expect(textOf(await capture(url, { onRefused: (refusal) => refusals.push(refusal) }))).toBe('done');
      expect(decoy.hits).toEqual({ tcp: 0, udp: 0 });
      expect(new Set(refusals.map((refusal) => `${refusal.host}:${refusal.port}`))).toContain(decoy.host);
      // The same page does come through where the lane lists the host, but never by UDP.
      expect(textOf(await capture(url, { allowHosts: [decoy.host] }))).toBe('done');
      expect(decoy.hits.tcp).toBeGreaterThan(10);
      expect(decoy.hits.udp).toBe(0);
    } finally {
      decoy.close();
    }
  });

  it('which WebRTC would get around, were it not closed', async () => {
    const decoy = await openDecoy();
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const bare = await chromium.launch({ executablePath: await locateBrowser({}), args });
    try {
      const page = await bare.newPage();
      await page.goto(site.page(`<script>${rtc(decoy.host)}</script>`));
      await until(() => decoy.hits.udp > 0);
      expect(decoy.hits.udp).toBeGreaterThan(0);
    } finally {
      await bare.close();
      decoy.close();
    }
  });

  it('and says so when the lane may not even open its own page', async () => {
    site.on('/leave', (_, response) => response.writeHead(302, { location: 'https://engine.invalid/' }).end());
    expect(detailOf(await capture(`${site.origin}/leave`))).toMatch(
      /egress guard refused engine.invalid:443: the lane does not list this host/,
    );
    site.on('/inside', (_, response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end());
    expect(detailOf(await capture(`${site.origin}/inside`))).toContain('egress guard refused 10.0.0.1:80');
  });
});

/** What the page's own browser says about where and when it is. */
const ECHO = `<p class="answer"></p><script>
  const show = (place) => document.querySelector('.answer').append(JSON.stringify({
    language: navigator.language, languages: navigator.languages.join(), number: (1234.5).toLocaleString(),
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone, place,
  }));
  navigator.geolocation.getCurrentPosition(
    ({ coords }) => show([coords.latitude, coords.longitude].map(Math.round).join()), () => show('unknown'));
</script>`;

describe('a region', () => {
  it.each<[string, CaptureTask['region'], Record<string, string>, unknown]>([
    [
      'gives the page its language, the time of its city and a position there',
      { country: 'BR', city: 'São Paulo', language: 'pt-BR' },
      { language: 'pt-BR', languages: 'pt-BR', number: '1.234,5', zone: 'America/Sao_Paulo', place: '-24,-47' },
      { language: 'pt-BR' },
    ],
    [
      'with a state has its time, and no position that nobody knows',
      { country: 'US', state: 'CA', language: 'en-US' },
      { language: 'en-US', zone: 'America/Los_Angeles', place: 'unknown' },
      { language: 'en-US' },
    ],
    ['of a country alone gives its time only', { country: 'JP' }, { zone: 'Asia/Tokyo', place: 'unknown' }, null],
    [
      'whose city nobody knows has the time of the country',
      { country: 'DE', city: 'Hintertupfingen' },
      { zone: 'Europe/Berlin', place: 'unknown' },
      null,
    ],
  ])('%s', async (_, region, echoed, effective) => {
    const headers: string[] = [];
    site.on('/echo-region', (request, response) => {
      headers.push(request.headers['accept-language'] ?? '');
      response.end(`<!doctype html>${ECHO}`);
    });
    const result = await capture(`${site.origin.replace('127.0.0.1', 'localhost')}/echo-region`, {}, { region });
    expect(JSON.parse(textOf(result))).toMatchObject(echoed);
    expect(result).toMatchObject({ effectiveRegion: effective });
    if (region?.language !== undefined) expect(headers[0]).toMatch(new RegExp(`^${region.language}`));
  });

  it('leaves through the proxy of its country, and only then the country is effective', async () => {
    const seen: string[] = [];
    const german = new ProxyServer({
      port: 0,
      host: '127.0.0.1',
      prepareRequestFunction: ({ hostname, username, password }) => {
        seen.push(hostname);
        return { requestAuthentication: username !== 'lane' || password !== 'secret' };
      },
    });
    await german.listen();
    try {
      const url = site.page('<p class="answer">x</p>');
      const egress = { proxies: new Map([['DE', `http://lane:secret@127.0.0.1:${german.port}`]]) };
      const region = { country: 'DE', city: 'Berlin', language: 'de' };
      const german1 = await capture(url, egress, { region });
      expect(german1).toMatchObject({ outcome: 'completed', effectiveRegion: { country: 'DE', language: 'de' } });
      expect('effectiveRegion' in german1 ? german1.effectiveRegion : null).toEqual({ country: 'DE', language: 'de' });
      expect(seen.length).toBeGreaterThan(0);
      seen.length = 0;
      const french = await capture(url, egress, { region: { country: 'FR', language: 'fr' } });
      expect('effectiveRegion' in french ? french.effectiveRegion : null).toEqual({ language: 'fr' });
      expect(seen).toEqual([]);
    } finally {
      await german.close(true);
    }
  });

  it('is not captured from elsewhere while its proxy is away', async () => {
    const egress = { proxies: new Map([['DE', 'http://127.0.0.1:9']]) };
    const result = await capture(site.page('<p class="answer">x</p>'), egress, { region: { country: 'DE' } });
    expect(result.outcome).toBe('unusable');
  });
});

describe('a page can keep nothing', () => {
  it('neither a download nor a service worker', async () => {
    site.on('/file', (_, response) =>
      response.writeHead(200, { 'content-type': 'application/zip', 'content-disposition': 'attachment' }).end('zip'),
    );
    site.on('/worker.js', (_, response) =>
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(`self.onfetch = () => {}`),
    );
    const page = `<a href="/file" download="planted.zip">x</a><p class="answer"></p><script>
      document.querySelector('a').click();
      const url = URL.createObjectURL(new Blob(['x'])); Object.assign(document.createElement('a'), { href: url, download: 'planted.txt' }).click();
      const wait = new Promise((resolve) => setTimeout(resolve, 500, 'never registered'));
      Promise.race([wait, navigator.serviceWorker.register('/worker.js').then((made) => made ? 'registered' : 'refused', () => 'refused')])
        .then(async (end) => document.querySelector('.answer').append(end + ', ' + (await navigator.serviceWorker.getRegistrations()).length));
    </script>`;
    const before = await listFiles();
    const result = await capture(site.page(page).replace('127.0.0.1', 'localhost'));
    expect(textOf(result)).toMatch(/^(refused|never registered), 0$/);
    const left = (await listFiles()).filter((name) => !before.includes(name));
    expect(left.filter((name) => /planted|artifacts.*\/./.test(name))).toEqual([]);
  });
});

/** Playwright keeps downloads in a folder of its own below the one for temporary files. */
async function listFiles(): Promise<string[]> {
  const names = await readdir(tmpdir());
  const folders = names.filter((name) => name.startsWith('playwright-artifacts'));
  const inside = await Promise.all(folders.map((name) => readdir(`${tmpdir()}/${name}`)));
  return [...names, ...folders.flatMap((name, index) => (inside[index] ?? []).map((file) => `${name}/${file}`))];
}

function detailOf(result: CaptureResult): string {
  return 'detail' in result ? result.detail : result.outcome;
}
