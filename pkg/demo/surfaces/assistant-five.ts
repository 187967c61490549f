import type { Express } from 'express';
import { makeContent } from '../content.ts';
import type { Directives } from '../directives.ts';
import { escapeHtml, renderPage } from '../html.ts';
import { waitForFirstText, writeInTicks } from '../pace.ts';
import { cutPieces, groupInTicks, renderBlocks, type Mark } from '../pieces.ts';
import { readQuery, readQuestion, refuse } from '../request.ts';

const TICK_MS = 14;

/** A footnote mark that links the source itself. */
const markFootnote: Mark = ({ url, title }, number) =>
  `<sup><a class="footnote" href="${escapeHtml(url)}" title="${escapeHtml(title)}">${number}</a></sup>`;

/**
 * A chat that streams server-sent events. Each event holds the whole answer so far, and the page replaces its node
 * by it, as pages do that render markdown again on every token.
 */
export function mountAssistantFive(app: Express): void {
  app.get('/assistant_five', (request, response) => {
    const directives = readQuery(request);
    if (refuse(response, directives)) return;
    const main = `<h1>Assistant Five</h1><section class="conversation"></section>
<div class="ask-bar"><textarea id="ask" rows="2" placeholder="Ask Assistant Five"></textarea>
<button type="button" data-testid="submit">Go</button></div>`;
    response.send(
      renderPage({ language: 'en', title: 'Assistant Five', css: CSS, main, script: 'assistant-five' }, directives),
    );
  });

  app.post('/assistant_five/stream', async (request, response) => {
    const directives = readQuestion(request);
    if (refuse(response, directives)) return;
    const content = makeContent(directives);
    response.type('text/event-stream');
    response.write(toEvent('start', { question: content.topic, crash: directives.crash }));
    await waitForFirstText(response, directives, 60);
    if (!(await writeInTicks(response, makeEvents(directives), directives, TICK_MS))) return;
    response.end(toEvent('end', { edited: content.edited }));
  });
}

function makeEvents(directives: Directives): string[] {
  if (directives.empty || directives.absent) return [];
  // Every event repeats all before it, so a long answer is sent in few.
  const groups = groupInTicks(cutPieces(makeContent(directives), markFootnote), directives.long ? 8 : 30);
  return groups.map((_, index) =>
    toEvent('answer', { html: renderBlocks(groups.slice(0, index + 1).flat()).join('') }),
  );
}

function toEvent(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

const CSS = `.ask-bar{position:sticky;bottom:0;background:#fff}.cursor{display:inline-block;width:.5rem;background:#333}
.problem{color:#a00}sup a{text-decoration:none}`;
