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

/** Writes text in which `[1]` or `[1, 2]` cites the listed sources of these names, where `markers` are read. */
export function writeMarked(text: string, marks: Marks, { builder, cites, markers }: Marking): void {
  if (!markers || marks.code || marks.link !== null) {
    builder.text(text, marks);
    return;
  }
  let from = 0;
  for (const { 0: mark, 1: name, index } of text.matchAll(/\[(\d{1,3}(?:, ?\d{1,3})*)\]/g)) {
    const cited = cites.ofRefs(name, '', 'citation');
    // Where a number names nothing it is no mark: an interval, an index.
    if (cited.length !== (name ?? '').split(',').length) continue;
    builder.text(text.slice(from, index), marks);
    for (const cite of cited) builder.chip(cite, true);
    from = index + mark.length;
  }
  builder.text(text.slice(from), marks);
}
