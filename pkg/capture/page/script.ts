import { readFileSync } from 'node:fs';
import type { CitationRule } from '../profile/profile.ts';
import type { PageCall, PageOrder, PagePart } from './messages.ts';

// Plain JavaScript with types in comments: the very text that runs in the page, free of what a compiler might add.
const FILES = ['dom.js', 'form.js', 'read.js', 'proof.js', 'suggest.js', 'probe.js'];
const SCRIPT = `globalThis[Symbol.for('search-capture')]`;

/** The script that every document of a captured page runs first, those of iframes too: an answer may stand in one. */
export function loadPageScript(): string {
  const parts = FILES.map((name) => readFileSync(new URL(name, import.meta.url), 'utf8'));
  return `(() => {\n'use strict';\n${parts.join('\n')}\n})();`;
}

/** An expression that calls the script in the page; its value is a promise of a `PageVerdict`. */
export function callPage(name: PageCall, order: PageOrder): string {
  return `${SCRIPT}.${name}(${JSON.stringify(order)})`;
}

/** A script for the page's first moment: it collects what may be gone when the page is first looked at. */
export function beginCollecting(parts: readonly PagePart[]): string {
  return `${SCRIPT}.begin(${JSON.stringify(parts)})`;
}

/** An expression whose value is the list of nodes, empty ones included, that show their URL only when asked. */
export function findRevealing(rule: CitationRule): string {
  return `${SCRIPT}.findRevealing(${JSON.stringify(rule)})`;
}

/** An expression that keeps what the page shows of the item at `index` now; its value says whether that is a URL. */
export function learnRevealed(rule: CitationRule, index: number, mayRepeat: boolean): string {
  return `${SCRIPT}.learnRevealed(${JSON.stringify(rule)}, ${index}, ${mayRepeat})`;
}

/** An expression whose value is another one whenever the document got longer or holds more. */
export function measurePage(): string {
  return `${SCRIPT}.measurePage()`;
}

/** An expression that scrolls away from the last match. */
export function leaveView(selector: string): string {
  return `${SCRIPT}.leaveView(${JSON.stringify(selector)})`;
}

/** An expression whose value says what the page has for a selector: how many matches, and what comes near it. */
export function explainSelector(selector: string): string {
  return `${SCRIPT}.explainSelector(${JSON.stringify(selector)})`;
}
