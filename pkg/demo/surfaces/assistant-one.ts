import type { Express } from 'express';
import { makeContent } from '../content.ts';
import type { Directives } from '../directives.ts';
import { escapeHtml, renderPage } from '../html.ts';
import { trackUrl } from '../links.ts';
import { waitForFirstText, writeInTicks } from '../pace.ts';
import { cutPieces, groupInTicks, type Mark } from '../pieces.ts';
import { readQuery, readQuestion, refuse } from '../request.ts';

const TICKS = 36;
const TICK_MS = 10;

/** A sentence is followed by a link with the name of the site, as part of the running text. */
const linkInline: Mark = ({ url, site }) =>
  ` (<a href="${escapeHtml(trackUrl(url))}" target="_blank" rel="noopener">${escapeHtml(site)}</a>)`;

/**
 * A chat with a rich-text composer. The answer streams word by word as JSON lines; the follow-up searches are shown
 * only while it does, and the send button is a stop button meanwhile.
 */
export function mountAssistantOne(app: Express): void {
  app.get('/assistant_one', (request, response) => {
    const directives = readQuery(request);
    if (refuse(response, directives)) return;
    response.send(
      renderPage({ language: 'en', title: 'Assistant One', css: CSS, main: MAIN, script: 'assistant-one' }, directives),
    );
  });

  app.post('/assistant_one/ask', async (request, response) => {
    const directives = readQuestion(request);
    if (refuse(response, directives)) return;
    const { topic, followUps } = makeContent(directives);
    response.type('application/x-ndjson');
    response.write(toLine({ type: 'question', text: topic }));
    if (directives.crash) response.write(toLine({ type: 'crash' }));
    for (const query of followUps) response.write(toLine({ type: 'search', query }));
    await waitForFirstText(response, directives, 80);
    if (await writeInTicks(response, makeLines(directives), directives, TICK_MS))
      response.end(toLine({ type: 'done' }));
  });
}

function makeLines(directives: Directives): string[] {
  if (directives.empty || directives.absent) return [];
  const content = makeContent(directives);
  const lines = cutPieces(content, linkInline).map((piece) => toLine({ type: 'piece', ...piece }));
  if (content.edited !== '') lines.push(toLine({ type: 'edit', text: content.edited }));
  return groupInTicks(lines, TICKS).map((group) => group.join(''));
}

function toLine(event: object): string {
  return `${JSON.stringify(event)}\n`;
}

const MAIN = `<h1>Assistant One</h1>
<div id="thread" role="log" aria-live="polite"></div>
<form id="composer"><div id="prompt" contenteditable="true" role="textbox" aria-multiline="true" aria-label="Message"></div>
<button type="submit" id="send" aria-label="Send">Send</button>
<button type="button" id="stop" aria-label="Stop answering" hidden>Stop</button></form>`;

const CSS = `#prompt{border:1px solid #99a;min-height:3rem;padding:.5rem;white-space:pre-wrap}
.turn{border-bottom:1px solid #dde;padding:1rem 0}.searches{color:#667;font-size:.9rem}.alert{color:#a00}`;
