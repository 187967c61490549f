import { readHost, squeeze } from './hosts.ts';

const WORD = /[\p{L}\p{M}\p{N}_]/u;
const HANGUL = /\p{Script=Hangul}/u;
/** Scripts that put no space between words. */
const SPACELESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Korean joins these to a name without a space. */
const PARTICLE =
  /^(?:은|는|이|가|을|를|의|에|에서|에게|와|과|도|로|으로|만|부터|까지|보다|처럼|이나|나|이라|라|란)(?![\p{L}\p{M}\p{N}])/u;

/** Tells whether `[start, end)` of one text is made of whole words. */
export type WordBounds = (start: number, end: number) => boolean;

/**
 * Word bounds in any script. `Acme` is a word of `Acme's`, `Acme-like`, `(Acme)` and `Acmeは`, not of `Acmeville`,
 * and `京东` is none of `北京东路`. Of a dotted name it is a word only where that is its own domain: `acme.com`,
 * but never `Node` of `Node.js`.
 */
export function createWordBounds(text: string): WordBounds {
  let segments: Intl.Segments | null = null;
  const breaksAt = (at: number): boolean => {
    // The break rules are ICU's; naming a language keeps the result independent of the host.
    segments ??= new Intl.Segmenter('en', { granularity: 'word' }).segment(text);
    return segments.containing(at)?.index === at;
  };
  const isBound = (at: number): boolean => {
    const [before, after] = [charBefore(text, at), charAt(text, at)];
    if (!WORD.test(before) || !WORD.test(after)) return true;
    if (SPACELESS.test(before) || SPACELESS.test(after)) return breaksAt(at);
    return HANGUL.test(after) && PARTICLE.test(text.slice(at, at + 8));
  };
  return (start, end) => isBound(start) && isBound(end) && !isPartOfDottedName(text, start, end);
}

function isPartOfDottedName(text: string, start: number, end: number): boolean {
  const dotAfter = text[end] === '.' && WORD.test(charAt(text, end + 1));
  const dotBefore = text[start - 1] === '.' && WORD.test(charBefore(text, start - 1));
  if (!dotAfter && !dotBefore) return false;
  const head = /[\p{L}\p{N}.-]*$/u.exec(text.slice(Math.max(0, start - 100), start))?.[0] ?? '';
  const tail = /^[\p{L}\p{N}.-]*/u.exec(text.slice(end, end + 100))?.[0] ?? '';
  const name = text.slice(start, end);
  const host = readHost(`${head}${name}${tail}`.replace(/^[.-]+|[.-]+$/g, ''));
  return host === null || squeeze(host.label) !== squeeze(name);
}

export function charBefore(text: string, at: number): string {
  return /[\s\S]$/u.exec(text.slice(Math.max(0, at - 2), at))?.[0] ?? '';
}

export function charAt(text: string, at: number): string {
  const point = at < 0 ? undefined : text.codePointAt(at);
  return point === undefined ? '' : String.fromCodePoint(point);
}
