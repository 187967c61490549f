import type { Express } from 'express';
import type { DemoSource } from '../content.ts';
import { escapeHtml } from '../html.ts';
import { readLabels } from '../labels.ts';
import { readQuery, refuse } from '../request.ts';
import { makeResults } from '../results.ts';
import { renderSearchBox } from './engine-search.ts';
import { sendResultPage } from './result-page.ts';

/** A list of news: the whole card is the link, and links are direct. */
export function mountEngineNews(app: Express): void {
  app.get('/engine_news', async (request, response) => {
    const directives = readQuery(request);
    if (refuse(response, directives)) return;
    const labels = readLabels(request);
    const stories = directives.absent
      ? `<div class="no-news">${escapeHtml(labels.nothing)}</div>`
      : makeResults(directives).map(renderStory).join('');
    const main = `${renderSearchBox(directives.topic)}<section class="stories" aria-label="${escapeHtml(labels.news)}">
<h1>${escapeHtml(labels.news)}</h1>${stories}</section><footer class="locale">${escapeHtml(labels.locale)}</footer>`;
    await sendResultPage(
      response,
      { language: labels.language, title: `${directives.topic} - News`, css: CSS, main },
      directives,
    );
  });
}

function renderStory({ url, title, site, snippet, date }: DemoSource): string {
  return `<article class="story"><a class="card" href="${escapeHtml(url)}"><span class="outlet">${escapeHtml(site)}</span>
<span class="headline" role="heading" aria-level="2">${escapeHtml(title)}</span>
<span class="snippet">${escapeHtml(snippet)}</span><time datetime="${date}T08:00:00Z">${date}</time></a></article>`;
}

const CSS = `.card{display:block;padding:.7rem;border:1px solid #dde;margin:.5rem 0;text-decoration:none;color:inherit}
.card span{display:block}.headline{font-weight:600}.outlet,time,.locale{color:#667}`;
