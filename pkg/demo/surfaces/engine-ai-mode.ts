import type { Express } from 'express';
import { makeContent } from '../content.ts';
import type { Directives } from '../directives.ts';
import { escapeHtml, renderPage } from '../html.ts';
import { readLabels } from '../labels.ts';
import { cutPieces, renderBlocks, type Mark } from '../pieces.ts';
import { readQuery, readText, refuse } from '../request.ts';

const FIRST_TEXT_MS = 120;
const ANSWER_MS = 350;

/** A pill with the host's name, at the end of its sentence. */
const markPill: Mark = ({ url }) => ` <a class="pill" href="${escapeHtml(url)}">${new URL(url).hostname}</a>`;

/**
 * A conversational search page that asks its server again and again how far the answer is. A panel beside the answer
 * lists the sources, those that the text does not mark included. With `[[absent]]` the mode is not offered.
 */
export function mountEngineAiMode(app: Express): void {
  app.get('/engine_ai_mode', (request, response) => {
    const directives = readQuery(request);
    if (refuse(response, directives)) return;
    const labels = readLabels(request);
    const main = directives.absent
      ? `<div id="not-offered">${escapeHtml(labels.nothing)}</div>`
      : `<div class="columns"><section class="thread"><h1 class="asked">${escapeHtml(directives.topic)}</h1>
<div class="reply" data-progress="0"></div></section>
<aside class="panel" aria-label="${escapeHtml(labels.sources)}"><h2>${escapeHtml(labels.sources)}</h2></aside></div>
<footer class="locale">${escapeHtml(labels.locale)}</footer>`;
    const script = directives.absent ? {} : { script: 'engine-ai-mode' };
    response.send(renderPage({ language: labels.language, title: 'AI Mode', css: CSS, main, ...script }, directives));
  });

  // The page says how long it has waited, so that the server needs no memory of it.
  app.get('/engine_ai_mode/reply', (request, response) => {
    const directives = readQuery(request);
    response.json(describeProgress(directives, Number(readText(request.query['elapsed']))));
  });
}

function describeProgress(directives: Directives, elapsedMs: number): object {
  const content = makeContent(directives);
  const share = (elapsedMs - (directives.slowMs ?? FIRST_TEXT_MS)) / ANSWER_MS;
  const progress = Math.max(0, Math.min(directives.stall ? 0.5 : 1, share));
  const pieces = directives.empty ? [] : cutPieces(content, markPill);
  const shown = pieces.slice(0, Math.floor(pieces.length * progress));
  const done = progress === 1;
  return {
    html: renderBlocks(shown).join(''),
    // Rounded down: 100 is what the page takes for the end, and nearly done is not done.
    progress: Math.floor(progress * 100),
    sources:
      done && !directives.empty ? content.sources.map(({ url, title, snippet }) => ({ url, title, snippet })) : [],
    edited: done ? content.edited : '',
    crash: directives.crash,
  };
}

const CSS = `.columns{display:grid;grid-template-columns:2fr 1fr;gap:2rem}.pill{font-size:.75rem;background:#e6e9f5;border-radius:1rem;padding:0 .5rem}
.panel{border-left:1px solid #dde;padding-left:1rem}.locale{color:#667}`;
