import type { FootnoteDefinition, Nodes, Root } from 'mdast';
import { toString } from 'mdast-util-to-string';
import { noteTitle } from './markers.ts';

export type Definitions = {
  /** URLs of `[name]: url`, by identifier. */
  urls: ReadonlyMap<string, string>;
  /** The first link in a footnote and the words of the note, by its identifier; notes without a link are not here. */
  footnotes: ReadonlyMap<string, { url: string; title: string }>;
};

/** Finds what references in the text refer to, wherever it is defined; the first definition of a name counts. */
export function collectDefinitions(root: Root): Definitions {
  const urls = new Map<string, string>();
  const footnotes = new Map<string, { url: string; title: string }>();
  visit(root, (node) => {
    if (node.type === 'definition' && !urls.has(node.identifier)) urls.set(node.identifier, node.url);
    if (node.type !== 'footnoteDefinition' || footnotes.has(node.identifier)) return;
    const url = firstUrl(node);
    if (url !== null) footnotes.set(node.identifier, { url, title: noteTitle(toString(node), url) });
  });
  return { urls, footnotes };
}

function firstUrl(note: FootnoteDefinition): string | null {
  let url: string | null = null;
  visit(note, (node) => {
    if (url === null && node.type === 'link') url = node.url;
  });
  return url;
}

/** In document order, without recursion, which a hostile answer could exhaust. */
function visit(root: Nodes, see: (node: Nodes) => void): void {
  const waiting: Nodes[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    see(node);
    if ('children' in node) for (const child of node.children.toReversed()) waiting.push(child);
  }
}
