import type { TreeBuilder } from './builder.ts';
import type { CiteFinder } from './cites.ts';
import type { Marks } from './tree.ts';

export type Marking = { builder: TreeBuilder; cites: CiteFinder; markers: boolean };

const NUMBER_ONLY = /^[^\p{L}\p{N}]*(\d{1,3}[^\p{L}\p{N}]*)?$/u;

/** True when a link's text is only a mark: a number such as `1` or `[2]`, or the cited host. */
export function isMarkerText(text: string, url: string): boolean {
  const shown = text.trim();
  if (NUMBER_ONLY.test(shown)) return true;
  const host = new URL(url).hostname;
  const name = shown.toLowerCase();
  return name === host || `www.${name}` === host;
}

/** What a note says of the source that it names; empty when that is only the URL. */
export function noteTitle(words: string, url: string): string {
  return words
    .replaceAll(url, '')
    .replace(/[↩\ufe0e\ufe0f]+/g, '')
    .replace(/^[\s\p{P}]+|[\s\p{Pd}:,;(]+$/gu, '');
}

/** Writes text in which `[1]` cites the listed source of that name, where `markers` are read. */
export function writeMarked(text: string, marks: Marks, { builder, cites, markers }: Marking): void {
  if (!markers || marks.code || marks.link !== null) {
    builder.text(text, marks);
    return;
  }
  let from = 0;
  for (const { 0: mark, 1: name, index } of text.matchAll(/\[(\d{1,3})\]/g)) {
    const cite = cites.ofRef(name, '', 'citation');
    if (cite === null) continue;
    builder.text(text.slice(from, index), marks);
    builder.chip(cite, true);
    from = index + mark.length;
  }
  builder.text(text.slice(from), marks);
}
