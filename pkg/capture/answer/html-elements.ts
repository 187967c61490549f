import type { Element, Nodes } from 'hast';

/** Never read: no part of what the answer says, or a control of the page. */
const SILENT = new Set(
  (
    'script style template noscript noembed noframes head title meta link base button select textarea input option ' +
    'optgroup datalist svg canvas audio video iframe object embed map progress meter'
  ).split(' '),
);

const BLOCKS = new Set(
  (
    'address article aside body center dd details dialog dir div dl dt fieldset figcaption figure footer form header ' +
    'hgroup html legend li main menu nav ol p search section summary ul table caption thead tbody tfoot tr td th'
  ).split(' '),
);

export function isBlock(element: Element): boolean {
  return BLOCKS.has(element.tagName);
}

/** Names by which style sheets hide what is for screen readers, and by which pages mark what counts lines. */
const HIDING_CLASS =
  /(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-text|linenos?|line-?numbers?|gutter|hljs-ln-numbers|react-syntax-highlighter-line-number|footnotes-sep)(?:\s|$)/i;

export function isSilent(element: Element): boolean {
  const { properties, tagName } = element;
  if (SILENT.has(tagName) || (tagName === 'dialog' && properties['open'] === undefined)) return true;
  if (HIDING_CLASS.test(attribute(element, 'className') ?? '')) return true;
  if (properties['ariaHidden'] === 'true' || (properties['hidden'] ?? false) !== false) return true;
  return /display\s*:\s*none/i.test(attribute(element, 'style') ?? '');
}

/** An attribute as one string, undefined where the element has none. `name` as hast spells it (`dataScsCite`). */
export function attribute(element: Element, name: string): string | undefined {
  const value = element.properties[name];
  if (value === undefined || value === null || value === false) return undefined;
  return Array.isArray(value) ? value.join(' ') : String(value);
}

export function isElement(node: Nodes | undefined): node is Element {
  return node?.type === 'element';
}

/** The first element below `node`, in document order, that `matches`. */
export function findElement(node: Element, matches: (element: Element) => boolean): Element | null {
  for (const child of node.children) {
    if (!isElement(child)) continue;
    const found = matches(child) ? child : findElement(child, matches);
    if (found !== null) return found;
  }
  return null;
}

/** All elements below `node` that `matches`, without looking inside them. */
export function findElements(node: Element, matches: (element: Element) => boolean): Element[] {
  return node.children
    .filter((child) => isElement(child))
    .flatMap((child) => (matches(child) ? [child] : findElements(child, matches)));
}

/** All text below `node`, hidden or not. */
export function plainText(node: Element): string {
  return node.children
    .map((child) => (child.type === 'text' ? child.value : isElement(child) ? plainText(child) : ''))
    .join('');
}

/** Text of code, where white space counts; `<br>` and blocks start new lines, chips are no text. */
export function sourceText(node: Element): string {
  const pieces: string[] = [];
  collectSource(node, pieces);
  return pieces.join('');
}

function collectSource(node: Element, pieces: string[]): void {
  let afterBlock = false;
  for (const child of node.children) {
    const block = isElement(child) && isLine(child) && !isSilent(child);
    if ((block || afterBlock) && !(pieces.at(-1) ?? '\n').endsWith('\n')) pieces.push('\n');
    afterBlock = block;
    if (child.type === 'text' && child.value !== '') pieces.push(child.value);
    else if (!isElement(child) || isSilent(child) || isUnselectable(child)) continue;
    else if (attribute(child, 'dataScsChip') !== undefined) continue;
    else if (child.tagName === 'br') pieces.push('\n');
    else {
      const before = pieces.length;
      collectSource(child, pieces);
      // A line of its own without text is an empty line.
      if (block && pieces.length === before && before > 0) pieces.push('\n');
    }
  }
}

/** The in-page reader marks lines of code that only a style sheet makes lines. */
function isLine(element: Element): boolean {
  return isBlock(element) || attribute(element, 'dataScsLine') !== undefined;
}

/** What can't be selected is not copied with the code: it counts or marks its lines. */
function isUnselectable(element: Element): boolean {
  return /user-select\s*:\s*none/i.test(attribute(element, 'style') ?? '');
}

const LANGUAGE_CLASS = /^(?:language|lang|highlight-source)-(.+)$/;

/** The language of a code block, from the class names that highlighters use. */
export function codeLanguage(elements: readonly Element[]): string | null {
  for (const element of elements) {
    const named = attribute(element, 'dataLanguage') ?? attribute(element, 'dataLang');
    if (named !== undefined) return named;
    const classes = (attribute(element, 'className') ?? '').split(' ');
    const prefixed = classes.map((name) => LANGUAGE_CLASS.exec(name)?.[1]).find((name) => name !== undefined);
    if (prefixed !== undefined) return prefixed;
    if (classes.includes('hljs')) return classes.find((name) => name !== 'hljs') ?? null;
  }
  return null;
}
