import type { Directives } from './directives.ts';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text that is safe in HTML, in attributes too. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

export type PageParts = {
  language: string;
  title: string;
  css: string;
  /** The page's own elements. They stand in `<main>`, which a consent overlay hides. */
  main: string;
  mainAttributes?: string;
  /** Name of the page's script in `scripts/`. */
  script?: string;
};

/** A whole page. With `[[consent]]` an overlay covers it, and nothing of it works until that is dismissed. */
export function renderPage(parts: PageParts, directives: Directives): string {
  const hidden = directives.consent ? ' hidden' : '';
  const script = parts.script === undefined ? '' : `<script src="/scripts/${parts.script}.js"></script>`;
  return `<!doctype html>
<html lang="${escapeHtml(parts.language)}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(parts.title)}</title><style>${BASE_CSS}${parts.css}</style></head>
<body><main${hidden} ${parts.mainAttributes ?? ''}>${parts.main}</main>
${directives.consent ? CONSENT : ''}<script src="/scripts/common.js"></script>${script}</body></html>`;
}

/** The page of a site that takes us for a robot (`[[blocked]]`), to be sent with HTTP 403. */
export function renderChallenge(): string {
  return simplePage('Just a moment', 'challenge', 'Verify that you are human', 'Tick the box below to continue.');
}

/** The page that `[[http:NNN]]` is answered with. */
export function renderErrorPage(status: number): string {
  return simplePage(`Error ${status}`, 'server-error', `Error ${status}`, 'The server could not answer this request.');
}

function simplePage(title: string, id: string, heading: string, text: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${BASE_CSS}</style></head>
<body><main id="${id}"><h1>${heading}</h1><p>${text}</p></main></body></html>`;
}

const BASE_CSS = `body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1d2430;background:#fbfbfd}
main{max-width:60rem;margin:0 auto;padding:1rem}[hidden]{display:none!important}
table{border-collapse:collapse}td,th{border:1px solid #ccd;padding:.2rem .6rem}pre{background:#eef;padding:.6rem}
.consent{position:fixed;inset:0;z-index:10;background:#0009;display:grid;place-items:center}
.consent>div{background:#fff;padding:2rem;max-width:24rem}`;

const CONSENT = `<div class="consent" role="dialog" aria-modal="true" aria-labelledby="consent-title"><div>
<h2 id="consent-title">Before you continue</h2><p>We use cookies to remember your choices.</p>
<button type="button" data-consent="reject">Reject all</button>
<button type="button" data-consent="accept">Accept all</button></div></div>`;
