import { fromHtml } from 'hast-util-from-html';
import type { Root } from 'hast';
import { cleanText } from './fold.ts';

/** Answers are far smaller; what is longer is a page gone wrong, and its rest is not read. In UTF-16 code units. */
const MAX_HTML_LENGTH = 2_000_000;

/** Chromium nests a parsed document no deeper. The parser's tree is walked recursively, so depth costs stack. */
const MAX_DEPTH = 512;

const TAG = /<(\/?)([a-z][^\s/>]*)[^>]*>/gi;
const VOID = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));
/** Their content is no markup; without their tags it would turn into text. */
const RAW = new Set('script style textarea title iframe noembed noframes noscript xmp template'.split(' '));

/**
 * Parses a piece of HTML. The HTML standard gives an unfinished tag, comment or script at the end no text, so any
 * place is safe to cut at.
 */
export function parseHtml(html: string): Root {
  return fromHtml(limitDepth(cleanText(html.slice(0, MAX_HTML_LENGTH))), { fragment: true });
}

/** Drops the tags, not the text, of what is nested too deep. */
function limitDepth(html: string): string {
  // Beyond the last `>` no tag ends, and looking for its end from every `<` would take quadratic time.
  const end = html.lastIndexOf('>') + 1;
  let depth = 0;
  const limited = html.slice(0, end).replace(TAG, (tag: string, slash: string, written: string) => {
    const name = written.toLowerCase();
    if (VOID.has(name) || RAW.has(name)) return tag;
    const tooDeep = depth > MAX_DEPTH;
    depth = Math.max(0, depth + (slash === '' ? 1 : -1));
    return tooDeep && depth >= MAX_DEPTH ? '' : tag;
  });
  return limited + html.slice(end);
}
