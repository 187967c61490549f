import { createServer } from 'node:http';
import { portOf, startListening } from '../../pkg/telemetry/index.ts';

/** A page of an ordinary size whose answer comes a moment after it was loaded. */
export async function startPage(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(PAGE);
  });
  await startListening(server, '127.0.0.1', 0);
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const PARAGRAPHS = Array.from(
  { length: 30 },
  (_, index) =>
    `<p>Paragraph ${index} says something of <a href="https://example.com/${index}">source ${index}</a>, and more.</p>`,
).join('');
const PAGE = `<!doctype html><title>Bench</title><main id="answer"></main>
<script>setTimeout(() => { document.getElementById('answer').innerHTML = ${JSON.stringify(PARAGRAPHS)};
  document.body.insertAdjacentHTML('beforeend', '<i id="done"></i>'); }, 100)</script>`;
