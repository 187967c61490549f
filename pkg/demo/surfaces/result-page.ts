import type { Response } from 'express';
import type { Directives } from '../directives.ts';
import { renderPage, type PageParts } from '../html.ts';
import { waitForFirstText } from '../pace.ts';

/**
 * Sends a page that has no script of its own to show its results. With `[[stall]]` it stops after half of the bytes
 * and keeps the connection; with `[[crash]]` and `[[edit]]` a script does the rest.
 */
export async function sendResultPage(response: Response, parts: PageParts, directives: Directives): Promise<void> {
  await waitForFirstText(response, directives, 0);
  const script = `${directives.crash ? CRASH : ''}${directives.edit ? EDIT : ''}`;
  const page = renderPage(parts, directives).replace('</body>', () => `${script}</body>`);
  response.type('html');
  if (directives.stall) response.write(page.slice(0, page.length / 2));
  else response.end(page);
}

const CRASH = '<script>demo.whenAllowed(demo.crash)</script>';

const EDIT = `<script>demo.whenAllowed(() => setTimeout(() => {
  const snippets = document.querySelectorAll('.snippet');
  if (snippets.length > 0) snippets[snippets.length - 1].textContent = 'This entry was checked again today.';
}, 150))</script>`;
