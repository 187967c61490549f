import { readFile, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import express, { type Express } from 'express';
import { readDirectives } from './directives.ts';
import { escapeHtml, renderChallenge, renderPage } from './html.ts';
import { readText } from './request.ts';
import { mountAssistantFive } from './surfaces/assistant-five.ts';
import { mountAssistantOne } from './surfaces/assistant-one.ts';
import { mountAssistantThree } from './surfaces/assistant-three.ts';
import { mountAssistantTwo } from './surfaces/assistant-two.ts';
import { mountEngineAiMode } from './surfaces/engine-ai-mode.ts';
import { mountEngineAiOverview } from './surfaces/engine-ai-overview.ts';
import { mountEngineNews } from './surfaces/engine-news.ts';
import { mountEngineSearch } from './surfaces/engine-search.ts';

export type DemoServer = { url: string; close(): Promise<void> };

/** A query of 2,000 characters is up to 24,000 bytes in a URL, more than Node takes by default. */
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * Starts the simulated answer engines on one address; port 0 takes a free one. Rejects when the port is taken. Closing
 * also ends the connections that `[[stall]]` holds open.
 */
export async function createDemoServer({ host, port }: { host: string; port: number }): Promise<DemoServer> {
  const app = createApp(await readScripts());
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, app);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the demo does not listen on a port');
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

async function readScripts(): Promise<ReadonlyMap<string, string>> {
  const dir = join(import.meta.dirname, 'scripts');
  const names = (await readdir(dir)).filter((name) => name.endsWith('.js'));
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name), 'utf8')] as const)),
  );
}

function createApp(scripts: ReadonlyMap<string, string>): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.get('/healthz', (_, response) => {
    response.json({ status: 'ok' });
  });
  app.get('/', (_, response) => {
    const links = PAGES.map(([path, label]) => `<li><a href="/${path}">${path}</a>: ${escapeHtml(label)}</li>`);
    const main = `<h1>Simulated answer engines</h1><ul>${links.join('')}<li><code>POST /v1/chat/completions</code>: assistant_two, a model</li></ul>`;
    response.send(renderPage({ language: 'en', title: 'Simulated answer engines', css: '', main }, readDirectives('')));
  });
  app.get('/scripts/:name', (request, response, next) => {
    const script = scripts.get(request.params.name);
    if (script === undefined) next();
    else response.type('js').send(script);
  });
  app.get('/challenge', (_, response) => {
    response.status(403).send(renderChallenge());
  });
  app.get('/url', (request, response) => {
    const target = readText(request.query['q']);
    if (/^https?:/.test(target)) response.redirect(302, target);
    else response.sendStatus(400);
  });
  mountAssistantTwo(app);
  app.use(express.json({ limit: '1mb' }));
  for (const mount of MOUNTS) mount(app);
  return app;
}

const PAGES = [
  ['assistant_one', 'a chat that streams, with links in its text'],
  ['assistant_three', 'a chat of custom elements, with citation chips'],
  ['assistant_five', 'a chat that streams events, with footnotes, tables and code'],
  ['engine_ai_overview?q=running+shoes', 'a result page with an AI box'],
  ['engine_ai_mode?q=running+shoes', 'a conversational search page'],
  ['engine_search?q=running+shoes', 'a result page'],
  ['engine_news?q=running+shoes', 'a news page'],
] as const;

const MOUNTS = [
  mountAssistantOne,
  mountAssistantThree,
  mountAssistantFive,
  mountEngineAiOverview,
  mountEngineAiMode,
  mountEngineSearch,
  mountEngineNews,
];
