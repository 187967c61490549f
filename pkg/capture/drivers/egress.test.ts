import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Server as ProxyServer } from 'proxy-chain';
import { systemClock } from '../../runtime/index.ts';
import { createLog, portOf, startListening } from '../../telemetry/index.ts';
import type { Region } from '../../contract/index.ts';
import type { Driver } from '../driver.ts';
import { createSocksServer, type SocksServer } from '../egress/socks-for-tests.ts';
import type { CaptureResult } from '../outcome.ts';
import { createHttpDriver } from './http.ts';
import { parseHttpProfile } from './http/parse.ts';
import { createModelDriver } from './model.ts';

const common = { clock: systemClock, log: createLog('test', 'silent') };
const CHAT = { model: 'm', choices: [{ message: { content: 'Here.' }, finish_reason: 'stop' }] };
const FOUND = { results: [{ url: 'https://a.example/', title: 'A' }] };

let endpoint: Server;
let httpProxy: ProxyServer;
let socks: SocksServer;
const throughHttp: string[] = [];
beforeAll(async () => {
  endpoint = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.url === '/search' ? FOUND : CHAT));
  });
  await startListening(endpoint, '127.0.0.1', 0);
  httpProxy = new ProxyServer({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ hostname, username, password }) => {
      throughHttp.push(hostname);
      return { requestAuthentication: username !== 'lane' || password !== 'p@ss' };
    },
  });
  await httpProxy.listen();
  socks = createSocksServer();
  await new Promise<void>((resolve) => socks.server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await httpProxy.close(true);
  socks.server.close();
  endpoint.closeAllConnections();
  await new Promise((resolve) => endpoint.close(resolve));
});

type Open = (host: string, proxies: ReadonlyMap<string, string>, region?: string[]) => Driver;

const openHttp: Open = (host, proxies, applies = []) =>
  createHttpDriver({
    profile: parseHttpProfile(
      {
        go: {
          url: `http://${host}:${portOf(endpoint)}/search`,
          method: 'POST',
          json: ['{query}', '{language}'],
          applies,
        },
        read: { results: { items: 'results', url: 'url', title: 'title' } },
      },
      'profile',
    ),
    apiKey: null,
    proxies,
    ...common,
  });

const openModel: Open = (host, proxies) =>
  createModelDriver({
    ...{ endpoint: `http://${host}:${portOf(endpoint)}/v1`, model: 'm', api: 'chat', webSearch: false },
    ...{ providerId: 'p', proxies },
    ...common,
  });

async function capture(driver: Driver, region: Region): Promise<CaptureResult> {
  const task = { captureId: 'c', surface: 'engine_search', query: 'x', wantsProof: false, timeoutMs: 8_000 } as const;
  try {
    return await driver.capture({ ...task, region }, new AbortController().signal);
  } finally {
    await driver.close();
  }
}

const effectiveOf = (result: CaptureResult): unknown =>
  'effectiveRegion' in result ? result.effectiveRegion : JSON.stringify(result);

describe.each<[string, Open]>([
  ['http', openHttp],
  ['model', openModel],
])('the %s driver', (_, open) => {
  it('goes through the proxy of the country, and only then the country is effective', async () => {
    const proxies = new Map([['DE', `http://lane:p%40ss@127.0.0.1:${httpProxy.port}`]]);
    throughHttp.length = 0;
    const german = await capture(open('127.0.0.1', proxies), { country: 'DE', city: 'Berlin' });
    expect(effectiveOf(german)).toEqual({ country: 'DE' });
    expect(throughHttp).toEqual(['127.0.0.1']);
    const french = await capture(open('127.0.0.1', proxies), { country: 'FR' });
    expect(effectiveOf(french)).toBeNull();
    expect(throughHttp).toHaveLength(1);
  });

  it('leaves names to a SOCKS5 proxy', async () => {
    const { port } = socks.server.address() as AddressInfo;
    for (const scheme of ['socks5', 'socks5h']) {
      socks.seen.length = 0;
      const proxies = new Map([['DE', `${scheme}://lane:p%40ss@127.0.0.1:${port}`]]);
      const german = await capture(open('engine.example', proxies), { country: 'DE' });
      expect(effectiveOf(german)).toEqual({ country: 'DE' });
      expect(socks.seen).toEqual(['lane:p@ss@engine.example']);
    }
  });

  it.each<[string, (port: number) => string]>([
    ['is away', () => 'http://127.0.0.1:9'],
    ['is away, of the other kind', () => 'socks5://127.0.0.1:9'],
    ['refuses us', (port) => `http://lane:wrong@127.0.0.1:${port}`],
  ])('asks nobody while the proxy of the country %s', async (_case, url) => {
    const result = await capture(open('127.0.0.1', new Map([['DE', url(httpProxy.port)]])), { country: 'DE' });
    expect(result).toMatchObject({ outcome: 'unusable', detail: expect.stringMatching(/through the proxy of DE\.$/) });
    expect(JSON.stringify(result)).not.toContain('wrong');
  });
});

it('a country stands beside what the request itself applies', async () => {
  const proxies = new Map([['DE', `http://lane:p%40ss@127.0.0.1:${httpProxy.port}`]]);
  const result = await capture(openHttp('127.0.0.1', proxies, ['language']), { country: 'DE', language: 'de' });
  expect(effectiveOf(result)).toEqual({ country: 'DE', language: 'de' });
});
