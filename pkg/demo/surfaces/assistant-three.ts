import type { Express } from 'express';
import { makeContent } from '../content.ts';
import { renderPage } from '../html.ts';
import { waitForFirstText } from '../pace.ts';
import { cutPieces, type Mark } from '../pieces.ts';
import { readQuery, readQuestion, refuse } from '../request.ts';

/** Chips carry no URL: they name an entry of the source list by its number. */
const markChip: Mark = (_, number) => `<button type="button" class="chip" data-source="${number}">[${number}]</button>`;

/**
 * A chat of custom elements, each with an open shadow root. The server sends the answer whole and the page types it
 * out. Chips `[1]` refer to a source list that is filled only when it is opened.
 */
export function mountAssistantThree(app: Express): void {
  app.get('/assistant_three', (request, response) => {
    const directives = readQuery(request);
    if (refuse(response, directives)) return;
    const main = '<h1>Assistant Three</h1><chat-room></chat-room>';
    response.send(
      renderPage({ language: 'en', title: 'Assistant Three', css: '', main, script: 'assistant-three' }, directives),
    );
  });

  app.post('/assistant_three/turns', async (request, response) => {
    const directives = readQuestion(request);
    if (refuse(response, directives)) return;
    const content = makeContent(directives);
    const silent = directives.empty || directives.absent;
    await waitForFirstText(response, directives, 120);
    response.json({
      question: content.topic,
      model: 'three-large',
      pieces: silent ? [] : cutPieces(content, markChip),
      sources: silent ? [] : content.sources.map(({ url, title }, index) => ({ ref: index + 1, url, title })),
      edited: content.edited,
      stall: directives.stall,
      crash: directives.crash,
    });
  });
}
