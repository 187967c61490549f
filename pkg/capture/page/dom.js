// Looking at the page's tree, through open shadow roots. Runs inside the page.

/** Shadow roots that were seen; the page's tree is `document` and these. @type {Set<ShadowRoot>} */
const shadowRoots = new Set();
/** Told of each new shadow root. @type {((root: ShadowRoot) => void)[]} */
const rootListeners = [];

/** @param {ShadowRoot} root */
function addRoot(root) {
  if (shadowRoots.has(root)) return;
  shadowRoots.add(root);
  for (const listener of rootListeners) listener(root);
  findRoots(root);
}

/** Finds the shadow roots below a node, itself included. @param {Node} node */
function findRoots(node) {
  if (node instanceof Element && node.shadowRoot) addRoot(node.shadowRoot);
  if (!(node instanceof Element || node instanceof DocumentFragment || node instanceof Document)) return;
  for (const element of node.querySelectorAll('*')) if (element.shadowRoot) addRoot(element.shadowRoot);
}

// A root attached to an element that stands in the page already changes nothing that an observer would see.
const attachShadow = Element.prototype.attachShadow;
/** @this {Element} @param {ShadowRootInit} init */
Element.prototype.attachShadow = function (init) {
  const root = attachShadow.call(this, init);
  if (init.mode === 'open') addRoot(root);
  return root;
};

/** @param {Node} node @returns {Element | null} the parent, across the border of a shadow root */
function parentOf(node) {
  if (node.parentElement) return node.parentElement;
  const root = node.getRootNode();
  return root instanceof ShadowRoot && node.parentNode === root ? root.host : null;
}

/**
 * Splits a selector at its commas, or one alternative into compounds and combinators; what stands in brackets or
 * quotes stays together.
 * @param {string} selector @param {RegExp} separator @returns {string[]}
 */
function splitSelector(selector, separator) {
  const parts = [''];
  let depth = 0;
  let quote = '';
  for (let at = 0; at < selector.length; at += 1) {
    const char = selector.charAt(at);
    const isSeparator = depth === 0 && quote === '' && separator.test(char);
    if (isSeparator) parts.push('');
    else parts[parts.length - 1] += char;
    if (char === '\\') parts[parts.length - 1] += selector.charAt((at += 1));
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === '(' || char === '[') depth += 1;
    else if (char === ')' || char === ']') depth -= 1;
  }
  return parts;
}

/** What CSS can't say of a node. @typedef {{css: string, texts: string[], visible: boolean}} Compound */
/** @typedef {{compound: Compound, parentOnly: boolean}} Ancestor */
/** @typedef {{plain: boolean, alternatives: {last: Compound, ancestors: Ancestor[]}[]}} ParsedSelector */
/** @type {Map<string, ParsedSelector>} */
const parsedSelectors = new Map();

const OWN_FILTER = /:has-text\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\)|:visible(?![\w-])/g;

/** @param {string} word @returns {Compound} */
function parseCompound(word) {
  /** @type {string[]} */
  const texts = [];
  let visible = false;
  const css = word.replace(OWN_FILTER, (_, /** @type {string | undefined} */ quoted) => {
    if (quoted === undefined) visible = true;
    else texts.push(foldSpace(quoted.slice(1, -1).replace(/\\(.)/g, '$1')).toLowerCase());
    return '';
  });
  return { css: /(^|[+~])$/.test(css) ? `${css}*` : css, texts, visible };
}

/** @param {string} selector alternatives, each as its last compound and, from the inside, those around it */
function parseSelector(selector) {
  const known = parsedSelectors.get(selector);
  if (known) return known;
  const alternatives = splitSelector(selector, /,/).map((alternative) => {
    // Siblings share a root, so that `a + b` can stay one compound for the browser.
    const joined = alternative
      .trim()
      .replace(/\s*([+~])\s*(?![=\]])/g, '$1')
      .replace(/\s*>\s*/g, ' > ');
    const words = splitSelector(joined, /\s/).filter((word) => word !== '');
    const last = parseCompound(words.pop() ?? '*');
    /** @type {Ancestor[]} */
    const ancestors = [];
    let parentOnly = false;
    for (const word of words.reverse()) {
      if (word === '>') parentOnly = true;
      else {
        ancestors.push({ compound: parseCompound(word), parentOnly });
        parentOnly = false;
      }
    }
    return { last, ancestors };
  });
  const parsed = { plain: selector.search(OWN_FILTER) === -1, alternatives };
  parsedSelectors.set(selector, parsed);
  return parsed;
}

/** Whether the browser's own `querySelector` says all that there is to say. @param {string} selector */
function isPlain(selector) {
  return shadowRoots.size === 0 && parseSelector(selector).plain;
}

/** @param {Element} element @param {Compound} compound */
function passes(element, { texts, visible }) {
  if (visible && !isVisible(element)) return false;
  if (texts.length === 0) return true;
  const text = foldSpace(allText(element)).toLowerCase();
  return texts.every((wanted) => text.includes(wanted));
}

/** @param {Element} element @param {Ancestor[]} ancestors @param {number} from @returns {boolean} */
function standsBelow(element, ancestors, from) {
  const wanted = ancestors[from];
  if (!wanted) return true;
  for (let parent = parentOf(element); parent; parent = parentOf(parent)) {
    if (
      parent.matches(wanted.compound.css) &&
      passes(parent, wanted.compound) &&
      standsBelow(parent, ancestors, from + 1)
    )
      return true;
    if (wanted.parentOnly) return false;
  }
  return false;
}

/** Like `matches`, where a selector reaches across shadow roots. @param {Element} element @param {string} selector */
function deepMatches(element, selector) {
  if (isPlain(selector)) return element.matches(selector);
  return parseSelector(selector).alternatives.some(
    ({ last, ancestors }) => element.matches(last.css) && passes(element, last) && standsBelow(element, ancestors, 0),
  );
}

/**
 * All matches in the page, in document order where no shadow root is involved, else root by root.
 * @param {string} selector @returns {Element[]}
 */
function findAll(selector) {
  if (isPlain(selector)) return [...document.querySelectorAll(selector)];
  /** @type {Set<Element>} */
  const found = new Set();
  for (const root of [document, ...shadowRoots]) {
    if (root instanceof ShadowRoot && !root.host.isConnected) continue;
    for (const { last, ancestors } of parseSelector(selector).alternatives)
      for (const element of root.querySelectorAll(last.css))
        if (passes(element, last) && standsBelow(element, ancestors, 0)) found.add(element);
  }
  return [...found].sort(compareOrder);
}

/** @param {string} selector @returns {Element | undefined} */
function findFirst(selector) {
  if (isPlain(selector)) return document.querySelector(selector) ?? undefined;
  return findAll(selector)[0];
}

/** Document order, a shadow tree standing where its host stands. @param {Element} a @param {Element} b */
function compareOrder(a, b) {
  if (a === b) return 0;
  const [pathA, pathB] = [hostPath(a), hostPath(b)];
  for (let at = 0; at < pathA.length && at < pathB.length; at += 1) {
    const [nodeA, nodeB] = [pathA[at], pathB[at]];
    if (!nodeA || !nodeB || nodeA === nodeB) continue;
    return nodeA.compareDocumentPosition(nodeB) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  }
  return pathA.length - pathB.length;
}

/** @param {Element} element @returns {Element[]} the hosts around it, outermost first, and itself */
function hostPath(element) {
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? [...hostPath(root.host), element] : [element];
}

/** @param {Element | undefined} element */
function isVisible(element) {
  return element !== undefined && element.checkVisibility({ visibilityProperty: true });
}

/** What a node shows as its children: a shadow tree in place of the light one, assigned nodes in place of a slot.
 * @param {Node} node @returns {Iterable<Node>} */
function shownChildren(node) {
  if (node instanceof Element && node.shadowRoot) return node.shadowRoot.childNodes;
  if (node instanceof HTMLSlotElement) {
    const assigned = node.assignedNodes({ flatten: true });
    if (assigned.length > 0) return assigned;
  }
  return node.childNodes;
}

const UNSEEN = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT']);
const NO_TEXT = new Set([...UNSEEN, 'BUTTON']);

/** Text without what is no part of an answer; cheap, so it asks for no styles.
 * @param {Node} node @param {string} drop selector, empty for none @returns {string} */
function textOf(node, drop) {
  if (node instanceof Text) return node.data;
  if (node instanceof Element) {
    if (NO_TEXT.has(node.tagName) || node.hasAttribute('hidden')) return '';
    if (drop !== '' && deepMatches(node, drop)) return '';
  }
  let text = '';
  for (const child of shownChildren(node)) text += textOf(child, drop);
  return text;
}

/** Everything that a node says, what its buttons say too. @param {Node} node @returns {string} */
function allText(node) {
  if (node instanceof Text) return node.data;
  if (node instanceof Element && UNSEEN.has(node.tagName)) return '';
  let text = '';
  for (const child of shownChildren(node)) text += allText(child);
  return text;
}

/** @param {string} text */
function foldSpace(text) {
  return text.replace(/\s+/g, ' ').trim();
}

/** What a person reads of it, on one line: what stands in boxes of its own is words apart, though the source has no space.
 * @param {Element} element @returns {string} */
function lineOf(element) {
  let text = '';
  for (const child of shownChildren(element)) text += boxedText(child);
  return foldSpace(text);
}

/** @param {Node} node @returns {string} */
function boxedText(node) {
  if (node instanceof Text) return node.data;
  if (!(node instanceof Element) || NO_TEXT.has(node.tagName) || node.hasAttribute('hidden')) return '';
  if (node.tagName === 'BR') return ' ';
  // The name of a picture, which nobody sees.
  if (node instanceof SVGElement && (node.localName === 'title' || node.localName === 'desc')) return '';
  const { display } = getComputedStyle(node);
  if (display === 'none') return '';
  let text = '';
  for (const child of shownChildren(node)) text += boxedText(child);
  return display.startsWith('inline') || display === 'contents' ? text : ` ${text} `;
}

/** @param {Element} element @param {string | undefined} selector @returns {Element | null} a match inside, also in shadow roots */
function findInside(element, selector) {
  if (selector === undefined) return null;
  const light = parseSelector(selector).plain ? element.querySelector(selector) : null;
  if (light || isPlain(selector)) return light;
  return findAll(selector).find((candidate) => isInside(candidate, element)) ?? null;
}

/** @param {Element} candidate @param {Element} around */
function isInside(candidate, around) {
  for (let node = parentOf(candidate); node; node = parentOf(node)) if (node === around) return true;
  return false;
}
