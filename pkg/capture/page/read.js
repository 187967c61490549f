// Reading the answer and what stands around it. Runs inside the page.

/** @typedef {import('./messages.ts').PageOrder} PageOrder */
/** @typedef {PageOrder['part']['read']} ReadRules */
/** @typedef {NonNullable<ReadRules['citations']>[number]} CitationRule */

/**
 * The answer's nodes: what was there before we asked and still says the same is none of it, nor are our own words.
 * @param {ReadRules} read @param {string[]} before texts of the matches before asking
 * @param {string | null} question what was asked in the page @returns {Element[]}
 */
function findAnswers(read, before, question) {
  if (read.answer === undefined) return [];
  const drop = dropSelector(read);
  const known = new Map(before.map((text) => [text, before.filter((other) => other === text).length]));
  let fresh = findAll(read.answer).filter((element) => {
    const text = textOf(element, drop) || '\0';
    const left = known.get(text) ?? 0;
    // The same answer may be given twice, so each text from before hides one node only.
    known.set(text, left - 1);
    return left <= 0;
  });
  if (read.question !== undefined) {
    const asked = findAll(read.question).at(-1);
    if (asked) fresh = fresh.filter((element) => compareOrder(asked, element) < 0 && !isInside(element, asked));
  } else if (question !== null) fresh = withoutOwnWords(fresh, question);
  return read.join === true ? fresh : fresh.slice(-1);
}

/**
 * The first node that says just what we asked is our question, unless the page shows the question elsewhere too: then
 * it is an engine that repeats it.
 * @param {Element[]} nodes @param {string} question
 */
function withoutOwnWords(nodes, question) {
  const own = nodes.findIndex((element) => foldSpace(allText(element)) === question);
  if (own === -1 || question === '') return nodes;
  const isShownTwice = pageText().split(question.toLowerCase()).length > 2;
  return nodes.length === 1 && isShownTwice ? nodes : nodes.filter((_, index) => index !== own);
}

/** @param {ReadRules} read */
function dropSelector(read) {
  return (read.drop ?? []).join(', ');
}

/** The text that must be there and come to rest.
 * @param {ReadRules} read @param {string[]} before @param {string | null} question @returns {string} */
function answerText(read, before, question) {
  if (read.answer === undefined) {
    const items = read.results ? findAll(read.results.item) : [];
    return items.map((item) => textOf(item, '')).join('\n');
  }
  const drop = dropSelector(read);
  return findAnswers(read, before, question)
    .map((element) => textOf(element, drop))
    .join('\n');
}

/** What was shown only when a person would have clicked, by rule and place. @type {Map<string, {url: string, title: string}[]>} */
const learned = new Map();

/** @param {Element} item @param {CitationRule} rule */
function findLearned(item, rule) {
  if (!rule.reveal || learned.size === 0) return undefined;
  return learned.get(`${rule.item} ${findAll(rule.item).indexOf(item)}`);
}

/** The items whose URL is still to be asked for. @param {CitationRule} rule */
function findRevealing(rule) {
  return findAll(rule.item);
}

/** The card that was read last. */
let lastCard = '';

/** @param {CitationRule} rule @param {number} index @param {boolean} mayRepeat whether it may be the last one's URL
 * @returns {boolean} whether the page shows a URL for it now */
function learnRevealed(rule, index, mayRepeat) {
  const shown = rule.reveal ? findAll(rule.reveal.shows).filter(isVisible).at(-1) : undefined;
  if (!shown) {
    lastCard = '';
    return false;
  }
  const links = findCardLinks(shown, rule);
  const card = links.map(({ url }) => url).join(' ');
  if (card === '' || (!mayRepeat && card === lastCard)) return false;
  lastCard = card;
  learned.set(`${rule.item} ${index}`, links);
  return true;
}

/** One mark may stand for several sources. @param {Element} shown @param {CitationRule} rule */
function findCardLinks(shown, rule) {
  const attribute = rule.attribute ?? 'href';
  const wanted = rule.link ?? (attribute === 'text' ? '*' : `[${CSS.escape(attribute)}]`);
  const found = deepMatches(shown, wanted) ? [shown] : findAll(wanted).filter((link) => isInside(link, shown));
  /** @type {Map<string, {url: string, title: string}>} */
  const links = new Map();
  for (const link of found) {
    const url = linkTarget(writtenIn(link, attribute) ?? '');
    const said = attribute === 'text' ? '' : lineOf(link);
    const title = titleOf(found.length === 1 ? shown : link, rule.title) || said;
    if (url !== '' && !links.get(url)?.title) links.set(url, { url, title });
  }
  return [...links.values()];
}

/** Some pages show a URL as text only. @param {Element | null} holder @param {string} attribute */
function writtenIn(holder, attribute) {
  if (attribute !== 'text') return holder?.getAttribute(attribute);
  const text = holder ? foldSpace(textOf(holder, '')) : '';
  return /^https?:\/\/\S+$/i.test(text) ? text : '';
}

/** A place in the same page is no source, it names one: a footnote. @param {string} href */
function linkTarget(href) {
  return href.trim().startsWith('#') ? '' : absolute(href);
}

/** @param {Element} item @param {CitationRule} rule @returns {{url: string, title: string}[]} with absolute URLs */
function citedLinks(item, rule) {
  const revealed = findLearned(item, rule);
  if (revealed) return revealed;
  const url = citedUrl(item, rule);
  return url === '' ? [] : [{ url, title: titleOf(item, rule.title) }];
}

/** @param {Element} item @param {CitationRule} rule @returns {string} absolute URL, or empty */
function citedUrl(item, rule) {
  const attribute = rule.attribute ?? 'href';
  if (attribute === 'text') return linkTarget(writtenIn(findInside(item, rule.link) ?? item, attribute) ?? '');
  const holder =
    findInside(item, rule.link) ??
    (item.hasAttribute(attribute)
      ? item
      : (findInside(item, `[${CSS.escape(attribute)}]`) ?? item.closest(`[${CSS.escape(attribute)}]`)));
  return linkTarget(holder?.getAttribute(attribute) ?? '');
}

/** @param {string} url */
function absolute(url) {
  if (url.trim() === '') return '';
  try {
    const parsed = new URL(url, document.baseURI);
    return /^https?:$/.test(parsed.protocol) ? parsed.href : '';
  } catch {
    return '';
  }
}

/** `title` is a selector inside the item, or else an attribute of the item.
 * @param {Element} item @param {string | undefined} title */
function titleOf(item, title) {
  if (title === undefined) return '';
  const inside = /^[\w-]+$/.test(title) && item.hasAttribute(title) ? null : findInside(item, title);
  return inside ? lineOf(inside) : foldSpace(item.getAttribute(title) ?? '');
}

/** @param {string} name as a page shows it: `[1]`, `(1)` or `1`, or as a link to it: `#fn-1` */
function refName(name) {
  return foldSpace(name)
    .replace(/^[[(#]+|[\])]+$/g, '')
    .trim();
}

/** @param {Element} item @param {CitationRule} rule */
function refOf(item, rule) {
  const named = rule.refersBy === undefined || rule.refersBy === 'text' ? null : item.getAttribute(rule.refersBy);
  return refName(named ?? textOf(item, ''));
}

/** True when the text is only a marker: a number such as `1` or `[2]`, or the cited host, as in `example.com +1`.
 * @param {string} text @param {string} url */
function isChipText(text, url) {
  const shown = foldSpace(text).replace(/\s*\+\s*\d+$/, '');
  if (/^[^\p{L}\p{N}]*(\d{1,3}[^\p{L}\p{N}]*)?$/u.test(shown)) return true;
  const host = url === '' ? '' : new URL(url).hostname;
  const name = shown.toLowerCase();
  return host !== '' && (name === host || `www.${name}` === host);
}

/** @param {ReadRules} read */
function readListed(read) {
  /** @type {import('./messages.ts').ListedItem[]} */
  const listed = [];
  for (const rule of read.citations ?? []) {
    if (rule.where !== 'listed') continue;
    findAll(rule.item).forEach((item, index) => {
      const named = rule.refersBy === undefined ? null : item.getAttribute(rule.refersBy);
      const ref = named === null ? String(index + 1) : refName(named);
      const shown = lineOf(findInside(item, rule.link ?? 'a[href]') ?? item);
      for (const { url, title } of citedLinks(item, rule))
        listed.push({ url, title: title || shown, role: rule.role, ref });
    });
  }
  return listed;
}

/** The node itself, or the nearest around it: a whole entry may be one link. @param {Element} item @param {string} selector */
function closest(item, selector) {
  for (let node = /** @type {Element | null} */ (item); node; node = parentOf(node))
    if (deepMatches(node, selector)) return node;
  return null;
}

/** @param {ReadRules} read */
function readResultItems(read) {
  const rule = read.results;
  if (!rule) return [];
  return findAll(rule.item).flatMap((item) => {
    const selector = rule.link ?? 'a[href]';
    const link = findInside(item, selector) ?? closest(item, selector);
    const { attribute = 'href' } = rule;
    const written = link?.getAttribute(attribute) ?? item.getAttribute(attribute) ?? link?.getAttribute('href');
    const url = absolute(written ?? '');
    if (url === '') return [];
    /** @param {string | undefined} part */
    const text = (part) => {
      const found = findInside(item, part);
      return found ? lineOf(found) : '';
    };
    const dated = findInside(item, rule.date);
    const date = dated?.getAttribute('datetime') ?? text(rule.date);
    const title = rule.title === undefined && link ? lineOf(link) : text(rule.title);
    return [{ url, title, snippet: text(rule.snippet), date }];
  });
}

/** @param {ReadRules} read */
function readModelLabel(read) {
  const found = read.model ? findFirst(read.model.selector) : undefined;
  if (!read.model || !found) return null;
  const label =
    read.model.attribute === undefined ? textOf(found, '') : (found.getAttribute(read.model.attribute) ?? '');
  return foldSpace(label) || null;
}

const KEPT_ATTRIBUTES = [
  'class',
  'alt',
  'start',
  'colspan',
  'rowspan',
  'lang',
  'dir',
  'role',
  'aria-level',
  'aria-hidden',
  'open',
];
const SKIPPED = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'LINK', 'META']);

/** @typedef {{read: ReadRules, inline: CitationRule[], skip: string, target: Document}} Cloning */

/** The answer as clean HTML: what is hidden or dropped is left out, shadow trees are flattened, citations are marked.
 * @param {ReadRules} read @param {Element[]} answers @returns {string} */
function cloneAnswers(read, answers) {
  const rules = read.citations ?? [];
  const listed = rules.filter(({ where }) => where === 'listed').map(({ item }) => item);
  const target = document.implementation.createHTMLDocument('');
  /** @type {Cloning} */
  const cloning = {
    read,
    inline: rules.filter(({ where }) => where === 'inline'),
    skip: [...(read.drop ?? []), ...listed].join(', '),
    target,
  };
  const box = target.createElement('div');
  for (const answer of answers) cloneInto(box, answer, cloning, false);
  return box.innerHTML;
}

/** @param {Node} parent @param {Node} node @param {Cloning} cloning @param {boolean} cited inside a marked citation */
function cloneInto(parent, node, cloning, cited) {
  if (node instanceof Text) {
    cloneText(parent, node, cloning);
    return;
  }
  if (!(node instanceof Element) || SKIPPED.has(node.tagName)) return;
  if (cloning.skip !== '' && deepMatches(node, cloning.skip)) return;
  const style = getComputedStyle(node);
  // The source of a formula is never shown, and says more than its drawing.
  const isSource = node.localName === 'annotation';
  if ((style.display === 'none' && !isSource) || isOrnament(node, style) || isUnseen(node, style)) return;
  const copy = copyElement(node, style, cloning, cited);
  const rule = cited ? undefined : cloning.inline.find(({ item }) => deepMatches(node, item));
  if (rule && copy instanceof Element) markCitation(copy, node, rule);
  parent.appendChild(copy);
  for (const child of shownChildren(node)) cloneInto(copy, child, cloning, cited || rule !== undefined);
}

const ICON_FONT =
  /^["']?(material (icons|symbols)|material-(icons|symbols)|fabric|codicon|icomoon|bootstrap-icons|fluent ?system)/i;

/** What people see as a picture or a handle, not as words: a name set in an icon font, the anchor of a heading.
 * @param {Element} node @param {CSSStyleDeclaration} style */
function isOrnament(node, style) {
  if (ICON_FONT.test(style.fontFamily)) return true;
  if (node.tagName !== 'A' || !(node.getAttribute('href') ?? '').includes('#')) return false;
  const heading = node.closest('h1, h2, h3, h4, h5, h6');
  return heading !== null && !/[\p{L}\p{N}]/u.test(textOf(node, ''));
}

/** @param {Element} node @param {CSSStyleDeclaration} style @param {Cloning} cloning @param {boolean} cited */
function copyElement(node, style, { target }, cited) {
  const isOwnKind = node.tagName.includes('-') || node instanceof HTMLSlotElement;
  const inline = style.display.startsWith('inline') || style.display === 'contents';
  const copy = isOwnKind
    ? target.createElement(inline ? 'span' : 'div')
    : target.createElementNS(node.namespaceURI, cited && node.tagName === 'A' ? 'span' : node.localName);
  for (const name of KEPT_ATTRIBUTES) {
    const value = node.getAttribute(name);
    if (value !== null) copy.setAttribute(name, value);
  }
  keepForm(copy, node, style);
  // One link in another would be read as two citations.
  const href = node.getAttribute('href');
  if (href !== null && !cited) copy.setAttribute('href', href.startsWith('#') ? href : absolute(href) || '#');
  return copy;
}

/** Line breaks that the page shows in running text become `<br>`: HTML folds them.
 * @param {Node} parent @param {Text} node @param {Cloning} cloning */
function cloneText(parent, node, { target }) {
  const around = parentOf(node);
  const style = around ? getComputedStyle(around) : null;
  if (style !== null && style.visibility !== 'visible') return;
  const breaks = style !== null && /^(pre|pre-wrap|pre-line|break-spaces)$/.test(style.whiteSpace);
  if (!breaks || !node.data.includes('\n') || (around && around.closest('pre') !== null)) {
    parent.appendChild(target.createTextNode(node.data));
    return;
  }
  node.data.split('\n').forEach((line, index) => {
    if (index > 0) parent.appendChild(target.createElement('br'));
    parent.appendChild(target.createTextNode(line));
  });
}

/** @param {Element} copy @param {Element} item @param {CitationRule} rule */
function markCitation(copy, item, rule) {
  const links = citedLinks(item, rule);
  const [{ url, title } = { url: '', title: titleOf(item, rule.title) }] = links;
  const text = textOf(item, '');
  copy.setAttribute('data-scs-cite', rule.role);
  if (url !== '') copy.setAttribute('data-scs-url', links.map((link) => link.url).join(' '));
  else copy.setAttribute('data-scs-ref', refOf(item, rule));
  const isMark = url === '' || rule.refersBy !== undefined || rule.reveal !== undefined;
  const isChip = rule.chip ?? (isMark || isChipText(text, url));
  const titles = links.map((link) => link.title);
  // A mark that says more than a number names its source.
  if (isChip && links.length === 1 && title === '' && /\p{L}/u.test(text))
    titles[0] = foldSpace(text).replace(/\s*\+\s*\d+$/, '');
  if (titles.join('') + title !== '') copy.setAttribute('data-scs-title', titles.join('\n') || title);
  if (isChip) copy.setAttribute('data-scs-chip', '');
}
