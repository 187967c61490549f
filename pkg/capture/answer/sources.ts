import type { CharRange, Source } from '../../contract/index.ts';
import { cleanLine } from './fold.ts';
import type { Cite } from './tree.ts';

export type SourceList = ReturnType<typeof createSourceList>;

type Entry = Omit<Source, 'id'>;

/**
 * Collects the sources of one answer. A URL is one source however often it is cited; ids count from 1 in order of
 * first appearance in the text, and what is only listed beside the answer comes after (spec 2.5).
 */
export function createSourceList(listed: readonly Cite[]) {
  const listedTitles = new Map<string, string>();
  for (const { url, title } of listed) {
    const line = cleanLine(title);
    if (line !== '' && !listedTitles.has(url)) listedTitles.set(url, line);
  }
  const entries = new Map<string, Entry>();

  function enter(cite: Cite, cited: boolean): Entry {
    const known = entries.get(cite.url);
    if (known !== undefined) return known;
    const title = listedTitles.get(cite.url) ?? '';
    const entry: Entry = { url: cite.url, title, role: cite.role, cited, charRanges: [] };
    entries.set(cite.url, entry);
    return entry;
  }

  return {
    /** `range` is null when the citation covers no text. `shown` is its own text, a title for want of a better one. */
    cite(cite: Cite, range: CharRange | null, shown: string): void {
      const entry = enter(cite, true);
      if (entry.title === '') entry.title = cleanLine(cite.title) || cleanLine(shown);
      if (range !== null && range.end > range.start) entry.charRanges.push(range);
    },
    finish(): Source[] {
      for (const cite of listed) enter(cite, false);
      return [...entries.values()].map((entry, index) => ({
        id: index + 1,
        ...entry,
        charRanges: mergeOverlaps(entry.charRanges),
      }));
    },
  };
}

function mergeOverlaps(ranges: readonly CharRange[]): CharRange[] {
  const merged: CharRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    const last = merged.at(-1);
    if (last !== undefined && range.start < last.end) last.end = Math.max(last.end, range.end);
    else merged.push({ ...range });
  }
  return merged;
}
