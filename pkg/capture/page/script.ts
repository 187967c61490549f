import { readFileSync } from 'node:fs';
import type { PageOrder } from './messages.ts';

// Plain JavaScript with types in comments: the very text that runs in the page, free of what a compiler might add.
const FILES = ['dom.js', 'read.js', 'proof.js', 'probe.js'];

/** The script that every document of a captured page runs first. Frames inside the page are none of its business. */
export function loadPageScript(): string {
  const parts = FILES.map((name) => readFileSync(new URL(name, import.meta.url), 'utf8'));
  return `(() => {\n'use strict';\nif (globalThis.top !== globalThis) return;\n${parts.join('\n')}\n})();`;
}

/** An expression that calls the script in the page; its value is a promise of a `PageVerdict`. */
export function callPage(name: 'arrive' | 'check' | 'wait', order: PageOrder): string {
  return `globalThis[Symbol.for('search-capture')].${name}(${JSON.stringify(order)})`;
}
