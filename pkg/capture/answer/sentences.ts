import type { CharRange } from '../../contract/index.ts';

/**
 * What a citation mark standing at `at` in `text` supports: from the end of the sentence before to the mark, trimmed.
 * A mark behind a full stop supports the sentence that the stop ends. Null when nothing stands before the mark.
 * `text` is one paragraph, list item or table cell; the sentences are found once, when first asked for.
 */
export function createSupport(text: string): (at: number) => CharRange | null {
  let starts: number[] | null = null;
  return (at) => {
    const end = text.slice(0, at).trimEnd().length;
    if (end === 0) return null;
    starts ??= findSentenceStarts(text);
    const start = lastAtOrBefore(starts, end - 1);
    const padding = text.slice(start, end).length - text.slice(start, end).trimStart().length;
    return { start: start + padding, end };
  };
}

function findSentenceStarts(text: string): number[] {
  // The rules of UAX 29 are the same for all languages here; naming one keeps the result independent of the host.
  const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
  return Array.from(segmenter.segment(text), (sentence) => sentence.index);
}

function lastAtOrBefore(sorted: readonly number[], position: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((sorted[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return sorted[low] ?? 0;
}
