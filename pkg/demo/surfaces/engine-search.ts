import type { Express } from 'express';
import type { DemoSource } from '../content.ts';
import { escapeHtml } from '../html.ts';
import { readLabels } from '../labels.ts';
import { wrapUrl } from '../links.ts';
import { readQuery, refuse } from '../request.ts';
import { makeResults } from '../results.ts';
import { sendResultPage } from './result-page.ts';

/** A list of results without any script. Its links go through the engine's redirector and carry tracking. */
export function mountEngineSearch(app: Express): void {
  app.get('/engine_search', async (request, response) => {
    const directives = readQuery(request);
    if (refuse(response, directives)) return;
    const labels = readLabels(request);
    const body = directives.absent
      ? `<p id="no-results">${escapeHtml(labels.nothing)}</p>`
      : `<ol id="results" aria-label="${escapeHtml(labels.results)}">${renderResults(makeResults(directives))}</ol>`;
    const main = `${renderSearchBox(directives.topic)}<h1>${escapeHtml(labels.results)}</h1>${body}
<footer class="locale">${escapeHtml(labels.locale)}</footer>`;
    await sendResultPage(
      response,
      { language: labels.language, title: `${directives.topic} - Search`, css: CSS, main },
      directives,
    );
  });
}

export function renderSearchBox(topic: string): string {
  return `<form role="search"><input type="search" name="q" aria-label="Search" value="${escapeHtml(topic)}"></form>`;
}

/** The organic results, as the search page and the page with an AI overview show them. */
export function renderResults(results: readonly DemoSource[]): string {
  return results.map(renderResult).join('');
}

function renderResult({ url, title, snippet, date }: DemoSource): string {
  return `<li class="result"><h3><a class="title" href="${escapeHtml(wrapUrl(url))}">${escapeHtml(title)}</a></h3>
<cite>${escapeHtml(new URL(url).host)}</cite>
<p><time class="date" datetime="${date}">${date}</time> <span class="snippet">${escapeHtml(snippet)}</span></p></li>`;
}

const CSS = `.result{margin:1rem 0}.result h3{margin:0}cite{color:#474;font-style:normal}.date,.locale{color:#667}`;
