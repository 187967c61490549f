import type { PhrasingContent } from 'mdast';
import { PLAIN, sameStyle, type Inline, type Marks } from './tree.ts';

/** A word, a run of spaces or a line break; spaces take no part in the edges of emphasis. */
type Token = { text: string; marks: Marks; isSpace: boolean; isBreak: boolean };

/** Inlines as markdown's phrasing, in which every emphasis begins and ends where markdown can say so. */
export function toPhrasing(inlines: readonly Inline[]): PhrasingContent[] {
  return group(inlines.reduce<Token[]>(addTokens, []), PLAIN);
}

function addTokens(tokens: Token[], inline: Inline): Token[] {
  if (inline.kind === 'break') tokens.push({ text: '\n', marks: PLAIN, isSpace: true, isBreak: true });
  if (inline.kind !== 'text') return tokens;
  // Groups that match nothing come back undefined, whatever the type says.
  for (const text of inline.text.split(/^(\s+)|(\s+)$/)) {
    if (!text) continue;
    const isSpace = text.trim() === '';
    const last = tokens.at(-1);
    if (last !== undefined && !last.isBreak && last.isSpace === isSpace && sameStyle(last.marks, inline.marks)) {
      last.text += text;
    } else tokens.push({ text, marks: inline.marks, isSpace, isBreak: false });
  }
  return tokens;
}

const WRAPPERS = ['link', 'strike', 'strong', 'emphasis'] as const;
type Wrapper = (typeof WRAPPERS)[number];

/** Wraps the longest stretches first, so that emphasis is not cut up by a link inside it. */
function group(given: readonly Token[], open: Marks): PhrasingContent[] {
  const tokens = [...given];
  const out: PhrasingContent[] = [];
  for (let index = 0; index < tokens.length;) {
    const longest = tokens[index]?.isSpace === true ? null : longestStretch(tokens, index, open);
    if (longest === null) {
      pushLeaf(out, tokens[index]);
      index += 1;
      continue;
    }
    const { wrapper, end } = longest;
    const stretch = tokens.slice(index, end);
    const link = tokens[index]?.marks.link ?? null;
    const children = group(stretch, { ...open, [wrapper]: wrapper === 'link' ? link : true });
    if (wrapper === 'link' || isSayable(out.at(-1), children, tokens[end])) {
      out.push(wrap(wrapper, link?.url ?? '', children));
      index = end;
    } else {
      // Read again without it: what it held has other neighbours now.
      const plain = stretch.map((token) => ({ ...token, marks: { ...token.marks, [wrapper]: false } }));
      for (const [offset, token] of plain.entries()) tokens[index + offset] = token;
    }
  }
  return out.flatMap((node) => (node.type === 'text' ? splitLong(node.value) : [node]));
}

const PUNCTUATION = /[\p{P}\p{S}]/u;
const BETWEEN_WORDS = /[\s\p{P}\p{S}]/u;

/**
 * Markdown can't begin emphasis with punctuation right behind a letter, nor end it so before one: `a**(b)**`. Writing
 * the letter as a character reference would be the way round, but nobody could search such text; so it stays plain.
 */
function isSayable(before: PhrasingContent | undefined, inside: PhrasingContent[], after: Token | undefined): boolean {
  const [first, last] = [inside.at(0), inside.at(-1)];
  const opensOdd = first?.type !== 'text' || PUNCTUATION.test(first.value.charAt(0));
  const closesOdd = last?.type !== 'text' || PUNCTUATION.test(last.value.slice(-1));
  // The markers of two emphases side by side are one run, so only the words on either side of it count.
  const behindWord =
    before?.type === 'text' ? !BETWEEN_WORDS.test(before.value.slice(-1)) : before !== undefined && isEmphasis(before);
  const beforeWord = after !== undefined && !after.marks.code && !BETWEEN_WORDS.test(after.text.charAt(0));
  return !(opensOdd && behindWord) && !(closesOdd && beforeWord);
}

function longestStretch(tokens: readonly Token[], from: number, open: Marks): { wrapper: Wrapper; end: number } | null {
  const first = tokens[from]?.marks ?? PLAIN;
  let longest: { wrapper: Wrapper; end: number } | null = null;
  for (const wrapper of WRAPPERS) {
    if (first[wrapper] === open[wrapper]) continue;
    let end = from;
    for (let at = from; at < tokens.length && tokens[at]?.marks[wrapper] === first[wrapper]; at += 1) {
      if (tokens[at]?.isSpace === false) end = at + 1;
    }
    if (longest === null || end > longest.end) longest = { wrapper, end };
  }
  return longest;
}

function isEmphasis({ type }: PhrasingContent): boolean {
  return type === 'strong' || type === 'emphasis' || type === 'delete';
}

function wrap(wrapper: Wrapper, url: string, children: PhrasingContent[]): PhrasingContent {
  switch (wrapper) {
    case 'link':
      return { type: 'link', url, children };
    case 'strike':
      return { type: 'delete', children };
    case 'strong':
      return { type: 'strong', children };
    case 'emphasis':
      return { type: 'emphasis', children };
  }
}

function pushLeaf(out: PhrasingContent[], token: Token | undefined): void {
  if (token === undefined) return;
  if (token.isBreak) out.push({ type: 'break' });
  else pushNode(out, { type: token.marks.code && !token.isSpace ? 'inlineCode' : 'text', value: token.text });
}

/** Neighbouring texts are one node, because what must be escaped depends on what stands beside it. */
function pushNode(out: PhrasingContent[], node: PhrasingContent): void {
  const last = out.at(-1);
  if (node.type === 'text' && last?.type === 'text') last.value += node.value;
  else if (node.type === 'inlineCode' && last?.type === 'inlineCode') last.value += node.value;
  else out.push(node);
}

/** The serializer takes quadratic time for what it must escape in one text node, and looks one character beyond it. */
function splitLong(text: string): PhrasingContent[] {
  const parts = text.match(/[^]{1,2000}/gu) ?? [];
  return parts.map((value) => ({ type: 'text', value }));
}
