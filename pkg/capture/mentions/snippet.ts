import type { CharRange } from '../../contract/index.ts';

const MAX_SNIPPET_UNITS = 240;

/** The sentence around a range, as it stands in the text; the middle of a long one, cut between characters. */
export function cutSnippet(text: string, { start, end }: CharRange): string {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const nextBreak = text.indexOf('\n', end);
  const line = text.slice(lineStart, nextBreak === -1 ? text.length : nextBreak);
  const sentence = findSentence(line, start - lineStart, end - lineStart);
  if (sentence.end - sentence.start <= MAX_SNIPPET_UNITS) return line.slice(sentence.start, sentence.end).trim();

  const room = Math.max(0, Math.floor((MAX_SNIPPET_UNITS - (end - start)) / 2));
  const from = Math.max(sentence.start, start - lineStart - room);
  const to = Math.min(sentence.end, end - lineStart + room);
  return line.slice(isInsidePair(line, from) ? from + 1 : from, isInsidePair(line, to) ? to - 1 : to).trim();
}

function findSentence(line: string, start: number, end: number): CharRange {
  // A name with a full stop in it may lie across what the rules call two sentences.
  const segments = new Intl.Segmenter('en', { granularity: 'sentence' }).segment(line);
  const [first, last] = [segments.containing(start), segments.containing(end - 1)];
  if (first === undefined || last === undefined) return { start: 0, end: line.length };
  return { start: first.index, end: last.index + last.segment.length };
}

function isInsidePair(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1));
}
