import { parse, SelectorType, type Selector } from 'css-what';

/**
 * A selector is CSS that reaches through open shadow roots, with `:has-text("…")` and `:visible` for the nodes that it
 * names; `>>>` leads from an iframe into its document.
 */
export const FRAME_BORDER = '>>>';

const OWN_FILTER = /:has-text\(\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\)|:visible\b/g;
const STAND_IN = ':own-filter';

/** What Chromium knows and what says something about a page that nobody touches. */
const PSEUDO_CLASSES = new Set(
  (
    'active any-link autofill checked default defined dir disabled empty enabled first-child first-of-type focus ' +
    'focus-visible focus-within fullscreen has host hover in-range indeterminate invalid is lang last-child ' +
    'last-of-type link modal not nth-child nth-last-child nth-last-of-type nth-of-type only-child only-of-type open ' +
    'optional out-of-range placeholder-shown popover-open read-only read-write required root scope target valid ' +
    'visited where own-filter'
  ).split(' '),
);

/** A selector as the iframes that lead to its document, outermost first, and what is looked for there. */
export function splitFrames(selector: string): { frames: string[]; inside: string } {
  const parts = splitOutside(selector, FRAME_BORDER).map((part) => part.trim());
  return { frames: parts.slice(0, -1), inside: parts.at(-1) ?? '' };
}

/** Why this is no selector, or null when it is one. */
export function findSelectorFault(selector: string): string | null {
  const { frames, inside } = splitFrames(selector);
  for (const part of [...frames, inside]) {
    const fault = findCssFault(part);
    if (fault !== null) return part === selector ? fault : `${fault} (in "${part}")`;
  }
  return null;
}

function findCssFault(css: string): string | null {
  if (css === '') return 'is empty before or after ">>>"';
  if (/:has-text\((?!\s*["'])/.test(css)) return ':has-text needs a text in quotes, like :has-text("Send")';
  try {
    const alternatives = parse(css.replace(OWN_FILTER, STAND_IN));
    for (const alternative of alternatives) {
      const fault = findFaultInside(alternative, 0);
      if (fault !== null) return fault;
    }
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const COMBINATORS = new Set<SelectorType | undefined>([
  SelectorType.Descendant,
  SelectorType.Child,
  SelectorType.Sibling,
  SelectorType.Adjacent,
]);

function findFaultInside(tokens: Selector[], depth: number): string | null {
  const last = tokens.at(-1);
  if (last === undefined || COMBINATORS.has(last.type)) return 'ends where a name should follow';
  if (depth === 0 && COMBINATORS.has(tokens[0]?.type)) return 'begins with a combinator';
  for (const [index, token] of tokens.entries()) {
    if (token.type === SelectorType.PseudoElement) return `::${token.name} names no node of the page`;
    if (token.type === SelectorType.ColumnCombinator || token.type === SelectorType.Parent)
      return 'has a combinator that browsers do not know';
    if (token.type !== SelectorType.Pseudo) continue;
    if (!PSEUDO_CLASSES.has(token.name))
      return `:${token.name} is no pseudo-class (own ones: :has-text("…"), :visible)`;
    if (token.name === 'own-filter') {
      if (depth > 0) return ':has-text and :visible can not stand inside another pseudo-class';
      const following = tokens.slice(index).find(({ type }) => COMBINATORS.has(type))?.type;
      if (following === SelectorType.Adjacent || following === SelectorType.Sibling)
        return ':has-text and :visible can not stand before + or ~';
    }
    if (!Array.isArray(token.data)) continue;
    for (const inner of token.data) {
      const fault = findFaultInside(inner, depth + 1);
      if (fault !== null) return fault;
    }
  }
  return null;
}

/** Splits where the separator stands outside of quotes and brackets. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let depth = 0;
  let quote = '';
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (depth === 0 && quote === '' && text.startsWith(separator, at)) {
      parts.push(text.slice(from, at));
      from = at + separator.length;
      at = from - 1;
    } else if (char === '\\') at += 1;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === '(' || char === '[') depth += 1;
    else if (char === ')' || char === ']') depth -= 1;
  }
  return [...parts, text.slice(from)];
}
