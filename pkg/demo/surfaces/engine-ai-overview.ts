import type { Express } from 'express';
import { makeContent } from '../content.ts';
import { escapeHtml, renderPage } from '../html.ts';
import { readLabels } from '../labels.ts';
import { trackUrl } from '../links.ts';
import { waitForFirstText } from '../pace.ts';
import { cutPieces, renderBlocks, type Mark } from '../pieces.ts';
import { readQuery, refuse } from '../request.ts';
import { makeResults } from '../results.ts';
import { renderResults, renderSearchBox } from './engine-search.ts';

/** An icon after the sentence; its name is for screen readers only. */
const markIcon: Mark = ({ url, title }) =>
  `<a class="cite" href="${escapeHtml(trackUrl(url))}" aria-label="${escapeHtml(title)}"><svg width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="5"/></svg></a>`;

/**
 * A result page whose AI box comes late, in two parts, and shows its rest only after "Show more". With `[[absent]]`
 * there are results and no box, with `[[empty]]` a box that stays without text.
 */
export function mountEngineAiOverview(app: Express): void {
  app.get('/engine_ai_overview', (request, response) => {
    const directives = readQuery(request);
    if (refuse(response, directives)) return;
    const labels = readLabels(request);
    const results = makeResults({ ...directives, empty: false, absent: false, long: false });
    const main = `${renderSearchBox(directives.topic)}
<section id="ai-box" aria-label="${escapeHtml(labels.overview)}" aria-busy="true"><h2>${escapeHtml(labels.overview)}</h2>
<div class="skeleton" aria-hidden="true"></div><div class="overview"></div>
<button type="button" class="show-more" hidden>${escapeHtml(labels.showMore)}</button><ul class="cards"></ul></section>
<ol id="results">${renderResults(results)}</ol><footer class="locale">${escapeHtml(labels.locale)}</footer>`;
    response.send(
      renderPage(
        {
          language: labels.language,
          title: `${directives.topic} - Search`,
          css: CSS,
          main,
          mainAttributes: 'data-ai="pending"',
          script: 'engine-ai-overview',
        },
        directives,
      ),
    );
  });

  app.get('/engine_ai_overview/box', async (request, response) => {
    const directives = readQuery(request);
    const content = makeContent(directives);
    await waitForFirstText(response, directives, 250);
    const silent = directives.empty || directives.absent;
    response.json({
      absent: directives.absent,
      blocks: silent ? [] : renderBlocks(cutPieces(content, markIcon)),
      cards: silent ? [] : content.sources.map(({ url, title, site }) => ({ url: trackUrl(url), title, site })),
      edited: content.edited,
      stall: directives.stall,
      crash: directives.crash,
    });
  });
}

const CSS = `#ai-box{background:#eef3ff;padding:1rem;border-radius:.7rem}.skeleton{height:4rem;background:#dde6fa}
.cards{list-style:none;padding:0}.result h3{margin:0}.locale{color:#667}`;
