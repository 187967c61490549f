import type { CharRange } from '../../contract/index.ts';
import type { WordBounds } from './words.ts';

/** More of one name than this in one answer tells nothing new. */
const MAX_OCCURRENCES = 1000;
/** What may stand between the words of a name: it is the same name with a space, a hyphen or both. */
const GAP = String.raw`(?:[^\S\n]|\p{Pd}){1,3}`;
const APOSTROPHE = "['’ʼ＇]";
/** What may stand between the letters of a name that a host label writes together: `bestbuy`, `mcdonalds`. */
const LABEL_GAP = String.raw`(?:[^\S\n]|[\p{Pd}'’ʼ&.+!]| & )?`;
/** Capitalized in English without being a name of anybody; as a label they need more evidence than a capital. */
const CALENDAR = new Set(
  'monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december'.split(
    ' ',
  ),
);

/** Where a name stands in the text as whole words, in any letter case, with any hyphen, space and apostrophe. */
export function findName(text: string, name: string, isWhole: WordBounds): CharRange[] {
  const parts = name
    .normalize('NFC')
    .split(/[\s\p{Pd}]+/u)
    .filter((part) => part !== '');
  if (parts.length === 0) return [];
  const spellings = new Set(
    [parts, parts.map((part) => part.normalize('NFD'))].map((words) => words.map(escape).join(GAP)),
  );
  return matches(text, new RegExp([...spellings].join('|'), 'giu'), isWhole);
}

/** Where a domain or a host below it stands in the text: not inside `acme.com.au`, `my-acme.com` or `acme.community`. */
export function findHost(text: string, hostnames: readonly string[]): CharRange[] {
  const any = [...new Set(hostnames)].map(escape).join('|');
  const pattern = String.raw`(?<![\p{L}\p{M}\p{N}_-])(?:${any})(?![\p{L}\p{M}\p{N}_-]|\.[\p{L}\p{N}])`;
  return matches(text, new RegExp(pattern, 'giu'), () => true);
}

/**
 * Where the label of a host stands in the text as a name: whole words, each beginning with a capital or a digit, so
 * that `target` in "target audience" is none. `trusted` labels, of a host that the answer cites, may be calendar words.
 */
export function findLabel(
  text: string,
  label: string,
  { isWhole, trusted }: { isWhole: WordBounds; trusted: boolean },
): CharRange[] {
  const letters = Array.from(label.replaceAll('-', ''));
  if (letters.length < 3 || (!trusted && CALENDAR.has(label))) return [];
  const found = matches(text, new RegExp(letters.map(escape).join(LABEL_GAP), 'giu'), isWhole);
  return found.filter(({ start, end }) => isWrittenAsName(text.slice(start, end)));
}

function isWrittenAsName(written: string): boolean {
  const words = written.split(/[^\p{L}\p{M}\p{N}'’ʼ]+/u).filter((word) => word !== '');
  return words.every((word) => /^[^\p{Ll}]/u.test(word) || (words.length === 1 && /\p{Lu}/u.test(word)));
}

function matches(text: string, pattern: RegExp, accept: WordBounds): CharRange[] {
  const ranges: CharRange[] = [];
  for (const match of text.matchAll(pattern)) {
    const [start, end] = [match.index, match.index + match[0].length];
    if (accept(start, end)) ranges.push({ start, end });
    if (ranges.length === MAX_OCCURRENCES) break;
  }
  return ranges;
}

function escape(part: string): string {
  return part.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`).replace(/['’ʼ＇]/gu, APOSTROPHE);
}
