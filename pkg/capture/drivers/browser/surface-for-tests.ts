import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createLog } from '../../../telemetry/index.ts';
import { systemClock } from '../../../runtime/index.ts';
import { locateBrowser } from '../../browser/locate.ts';
import { createBrowserPool, type BrowserPool, type BrowserPoolOptions } from '../../browser/pool.ts';
import type { CaptureResult, CaptureTask } from '../../outcome.ts';
import type { Profile } from '../../profile/profile.ts';
import { createBrowserDriver } from '../browser.ts';

export const testLog = createLog('test', 'silent');

/** A small website whose pages each test writes itself. */
export async function openSite() {
  const handlers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  const server = createServer((request, response) => {
    const handle = handlers.get(new URL(request.url ?? '/', 'http://site').pathname);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    if (handle !== undefined) handle(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the site has no port');
  const origin = `http://127.0.0.1:${address.port}`;
  return {
    origin,
    on: (path: string, handle: (request: IncomingMessage, response: ServerResponse) => void) => {
      handlers.set(path, handle);
    },
    onUpgrade: (handle: (request: IncomingMessage, socket: Socket) => void) => {
      server.removeAllListeners('upgrade').on('upgrade', handle);
    },
    /** Puts a page at a path of its own and returns its URL. */
    page: (html: string, status = 200): string => {
      const path = `/page-${handlers.size}`;
      handlers.set(path, (_, response) => response.writeHead(status).end(`<!doctype html><title>Test</title>${html}`));
      return `${origin}${path}`;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Site = Awaited<ReturnType<typeof openSite>>;

export async function openPool(options: Partial<BrowserPoolOptions> = {}): Promise<BrowserPool> {
  return createBrowserPool({
    executablePath: await locateBrowser({}),
    concurrency: 4,
    recycle: { uses: 1000, ageSeconds: 3600, memoryMiB: 8000 },
    clock: systemClock,
    log: testLog,
    ...options,
  });
}

/** A profile of a page that already was asked by its URL; `change` replaces whole parts. */
export function profileOf(url: string, change: Partial<Profile> = {}): Profile {
  return { go: { url }, ask: [], finished: { quietMs: 150 }, read: { answer: '.answer' }, ...change };
}

export type CaptureChange = Partial<CaptureTask> & {
  signal?: AbortSignal;
  secrets?: ReadonlyMap<string, string>;
  allowHosts?: string[];
};

/** Each capture here is its driver's only one, so a page prepared for the next would never be used, and cost the most. */
function withoutPreparing(pool: BrowserPool): BrowserPool {
  return { ...pool, lease: async (...args) => ({ ...(await pool.lease(...args)), warmNext: () => undefined }) };
}

export async function captureOnce(
  pool: BrowserPool,
  profile: Profile,
  change: CaptureChange = {},
): Promise<CaptureResult> {
  const { signal = new AbortController().signal, secrets = new Map(), allowHosts = [], ...task } = change;
  const driver = createBrowserDriver({
    profile,
    pool: withoutPreparing(pool),
    secrets,
    egress: { allowHosts },
    clock: systemClock,
    log: testLog,
  });
  try {
    return await driver.capture(
      {
        captureId: 'job_1.assistant_one.GLOBAL',
        surface: 'assistant_one',
        query: 'best crm',
        region: null,
        wantsProof: false,
        timeoutMs: 8_000,
        ...task,
      },
      signal,
    );
  } finally {
    await driver.close();
  }
}

/** A page script that appends each text to `.answer`, one every `everyMs`. */
export function streaming(texts: readonly string[], everyMs: number, atEnd = ''): string {
  return `<script>
    const texts = ${JSON.stringify(texts)};
    const timer = setInterval(() => {
      const text = texts.shift();
      if (text !== undefined) document.querySelector('.answer').append(text);
      else { clearInterval(timer); ${atEnd} }
    }, ${everyMs});
  </script>`;
}
