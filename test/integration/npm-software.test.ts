import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { close as closePagefind, createIndex } from 'pagefind';
import { parse } from 'yaml';
import { ensureChromium } from '../../cmd/standalone/servers/programs.ts';
import type { CapturedPage, CaptureResult } from '../../pkg/capture/index.ts';
import { createDrivers, parseLane, type CaptureLane, type Drivers } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { closeServer, createLog, portOf, startListening } from '../../pkg/telemetry/index.ts';

// Software from npm whose lanes are YAML of config/lanes/examples/by-hand, exactly as they stand but for the ports.

const LANES = new URL('../../config/lanes/examples/by-hand/', import.meta.url);
const DEEP_CHAT = fileURLToPath(new URL('../../node_modules/deep-chat/dist/deepChat.bundle.js', import.meta.url));
const ANSWER = [
  'City bikes are **sturdy**: see the [guide](https://guides.example/bikes?utm_source=chat&id=1).\n\n',
  '- disc brakes\n- lights from the [lab](https://lab.example/lights)\n\n',
  '```python\nprint("ride")\n```\n\n',
  '| Kind | Price |\n| --- | --- |\n| used | 90 |\n\n',
];
const ARTICLES = [
  { path: '/brakes.html', title: 'Disc brakes', text: 'Every bicycle stops sooner with discs in the rain.' },
  { path: '/lights.html', title: 'Lights', text: 'A bicycle at night needs a dynamo.' },
  { path: '/boats.html', title: 'Boats', text: 'Nothing here rolls.' },
];
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

const servers: Server[] = [];
let folder: string;
let drivers: Drivers;
let deepChat: CaptureLane;
let pagefind: CaptureLane;

async function serve(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  servers.push(server);
  await startListening(server, '127.0.0.1', 0);
  return `http://127.0.0.1:${portOf(server)}`;
}

async function readLane(name: string, origin: string): Promise<CaptureLane> {
  const text = await readFile(new URL(`${name}.yaml`, LANES), 'utf8');
  return parseLane(parse(text.replaceAll('http://127.0.0.1:8000', origin)), name);
}

/** The component as its documentation connects it: one POST whose answer streams as events. */
function serveDeepChat(): Promise<string> {
  const page = `<!doctype html><meta charset="utf-8"><script type="module" src="/deepChat.js"></script>
    <deep-chat connect='{"url": "/chat", "stream": true}'></deep-chat>`;
  return serve((request, response) => {
    if (request.url === '/deepChat.js') {
      response.setHeader('content-type', 'text/javascript');
      readFile(DEEP_CHAT).then(
        (script) => response.end(script),
        () => response.writeHead(500).end(),
      );
      return;
    }
    if (request.url !== '/chat') {
      response.setHeader('content-type', 'text/html');
      response.end(page);
      return;
    }
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { messages } = JSON.parse(body) as { messages: { text: string }[] };
      response.setHeader('content-type', 'text/event-stream');
      const said = [...ANSWER, `You asked: \`${JSON.stringify(messages.at(-1)?.text)}\``];
      const timer = setInterval(() => {
        const text = said.shift();
        if (text !== undefined) response.write(`data: ${JSON.stringify({ text })}\n\n`);
        else {
          clearInterval(timer);
          response.end();
        }
      }, 100);
    });
  });
}

/** A site of three pages with the search that Pagefind makes of it. */
async function servePagefind(): Promise<string> {
  const { index } = await createIndex({});
  if (index === undefined) throw new Error('Pagefind made no index');
  for (const { path, title, text } of ARTICLES)
    await index.addHTMLFile({
      sourcePath: path.slice(1),
      content: `<html lang="en"><title>${title}</title><main><h1>${title}</h1><p>${text}</p></main></html>`,
    });
  await index.writeFiles({ outputPath: join(folder, 'pagefind') });
  await closePagefind();
  const page = `<!doctype html><html lang="en"><script src="/pagefind/pagefind-ui.js"></script><div id="search"></div>
    <script>new PagefindUI({ element: '#search', showSubResults: false });</script></html>`;
  return serve(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://site');
    response.setHeader('content-type', TYPES[extname(pathname)] ?? 'application/octet-stream');
    if (pathname === '/find.html') response.end(page);
    else if (!/^\/pagefind\/[\w./-]+$/.test(pathname) || pathname.includes('..')) response.writeHead(404).end();
    else
      readFile(join(folder, pathname)).then(
        (file) => response.end(file),
        () => response.writeHead(404).end(),
      );
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'npm-software-'));
  deepChat = await readLane('deep-chat', await serveDeepChat());
  pagefind = await readLane('pagefind', await servePagefind());
  const machine = { path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0, say: () => undefined };
  drivers = await createDrivers({
    lanes: [deepChat, pagefind],
    browserExecutable: await ensureChromium(machine, process.env['BROWSER_EXECUTABLE'] ?? ''),
    env: {},
    secretsDir: '',
    clock: systemClock,
    log: createLog('test', 'silent'),
  });
});
afterAll(async () => {
  await drivers.close();
  await Promise.all(servers.map((server) => closeServer(server, 0)));
  await rm(folder, { recursive: true, force: true });
});

/** Tried again like any capture: the network interfaces of a machine that runs tests may come and go meanwhile. */
async function capture(lane: CaptureLane, query: string): Promise<CaptureResult> {
  const task = { captureId: 'c', surface: lane.spec.surface, query, region: null, wantsProof: true } as const;
  const attempt = () => drivers.of(lane).capture({ ...task, timeoutMs: 20_000 }, new AbortController().signal);
  const first = await attempt();
  return first.outcome === 'crashed' ? await attempt() : first;
}

function expectCompleted(result: CaptureResult): CapturedPage {
  if (result.outcome !== 'completed') throw new Error(JSON.stringify({ ...result, screenshot: undefined }));
  return result;
}

const sourcesOf = ({ answer, evidence }: CapturedPage) =>
  evidence.sources.map(({ url, role, charRanges }) => [
    url,
    role,
    ...charRanges.map(({ start, end }) => answer.text.slice(start, end)),
  ]);

describe('the lane for deep-chat', () => {
  it('asks a question of several lines and reads the whole answer, twice', async () => {
    const query = 'Which bike?\nA "cheap" one & 自転車';
    for (const captured of await Promise.all([capture(deepChat, query), capture(deepChat, query)])) {
      const page = expectCompleted(captured);
      expect(page.answer.markdown).toBe(
        [
          'City bikes are **sturdy**: see the [guide](https://guides.example/bikes?id=1).',
          '- disc brakes\n- lights from the [lab](https://lab.example/lights)',
          '```python\nprint("ride")\n```',
          '| Kind | Price |\n| - | - |\n| used | 90 |',
          `You asked: \`${JSON.stringify(query)}\``,
        ].join('\n\n'),
      );
      expect(sourcesOf(page)).toEqual([
        ['https://guides.example/bikes?id=1', 'citation', 'guide'],
        ['https://lab.example/lights', 'citation', 'lab'],
      ]);
      expect(page.signals.map(({ name }) => name)).toEqual(expect.arrayContaining(['stream opened', 'stream ended']));
    }
  });
});

describe('the lane for Pagefind', () => {
  it('reads the results, and tells that there are none', async () => {
    const page = expectCompleted(await capture(pagefind, 'bicycle'));
    const { origin } = new URL(page.evidence.sources[0]?.url ?? '');
    expect(new Set(sourcesOf(page).map((source) => source.join(' ')))).toEqual(
      new Set([`${origin}/brakes.html result Disc brakes`, `${origin}/lights.html result Lights`]),
    );
    expect(page.answer.text).toContain('Every bicycle stops sooner with discs in the rain.');
    expect(await capture(pagefind, 'zeppelin')).toMatchObject({ outcome: 'absent' });
  });
});
