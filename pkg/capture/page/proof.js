// A still of the whole page: no scripts, nothing that loads from elsewhere. Runs inside the page.

const IMAGE_BUDGET_BYTES = 2_000_000;
const IMAGE_BUDGET_MS = 1_000;
const STYLE_BUDGET_CHARS = 2_000_000;

const PROOF_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** What can run, load or navigate, and what a parser may read otherwise than it was written. */
const LEFT_OUT = new Set(
  (
    'script noscript iframe frame frameset object embed applet portal fencedframe base meta link style template ' +
    'noembed noframes xmp plaintext listing audio video source track animate animatetransform animatemotion set ' +
    'foreignobject use title'
  ).split(' '),
);
const KEPT_NAMES = new Set(
  (
    'class id lang dir title alt role width height colspan rowspan start value type checked disabled open selected placeholder ' +
    'rows cols hidden slot part datetime viewbox d fill stroke stroke-width stroke-linecap stroke-linejoin fill-rule clip-rule cx ' +
    'cy r rx ry x y x1 y1 x2 y2 points transform preserveaspectratio contenteditable'
  ).split(' '),
);

/** @typedef {{target: Document, images: {copy: Element, url: string}[], styleChars: number}} Snapshot */

/** @returns {Snapshot} */
function takeSnapshot() {
  const target = document.implementation.createHTMLDocument(document.title);
  /** @type {Snapshot} */
  const snapshot = { target, images: [], styleChars: 0 };
  const meta = target.createElement('meta');
  meta.httpEquiv = 'Content-Security-Policy';
  meta.content = PROOF_POLICY;
  const charset = target.createElement('meta');
  charset.setAttribute('charset', 'utf-8');
  target.head.prepend(charset, meta);
  addStyles(target.head, [...document.styleSheets, ...document.adoptedStyleSheets], snapshot);
  copyAttributes(document.documentElement, target.documentElement);
  if (document.body) {
    copyAttributes(document.body, target.body);
    for (const child of document.body.childNodes) copyInto(target.body, child, snapshot);
  }
  return snapshot;
}

/** @param {Node} parent @param {Iterable<CSSStyleSheet>} sheets @param {Snapshot} snapshot */
function addStyles(parent, sheets, snapshot) {
  let css = '';
  for (const sheet of sheets) if (!sheet.disabled) css += wrapMedia(sheet, readRules(sheet));
  css = tameCss(css);
  if (css === '' || snapshot.styleChars + css.length > STYLE_BUDGET_CHARS) return;
  snapshot.styleChars += css.length;
  const style = snapshot.target.createElement('style');
  style.textContent = css;
  parent.appendChild(style);
}

/** @param {CSSStyleSheet} sheet @returns {string} */
function readRules(sheet) {
  let css = '';
  try {
    for (const rule of sheet.cssRules) {
      if (rule instanceof CSSImportRule) css += rule.styleSheet ? readRules(rule.styleSheet) : '';
      else if (!(rule instanceof CSSFontFaceRule)) css += `${rule.cssText}\n`;
    }
  } catch {
    // A sheet of another origin does not let itself be read: the proof goes without it.
    return css;
  }
  return css;
}

/** @param {CSSStyleSheet} sheet @param {string} css */
function wrapMedia(sheet, css) {
  return css !== '' && sheet.media.length > 0 ? `@media ${sheet.media.mediaText} {\n${css}}\n` : css;
}

/** Takes from CSS what loads, and what would end the style element. @param {string} css */
function tameCss(css) {
  return css
    .replace(/@import[^;]*;?/gi, '')
    .replace(/url\(\s*(?!["']?data:image\/(?:png|jpe?g|gif|webp))(?:"[^"]*"|'[^']*'|[^)]*)\s*\)/gi, 'none')
    .replace(/(?:-webkit-)?image-set\([^;}]*/gi, 'none')
    .replace(/</g, '\\3c ');
}

/** @param {Node} parent @param {Node} node @param {Snapshot} snapshot */
function copyInto(parent, node, snapshot) {
  if (node instanceof Text) {
    parent.appendChild(snapshot.target.createTextNode(node.data));
    return;
  }
  if (!(node instanceof Element) || LEFT_OUT.has(node.localName.toLowerCase())) return;
  const copy = snapshot.target.createElementNS(node.namespaceURI, node.localName);
  copyAttributes(node, copy);
  keepState(node, copy, snapshot);
  parent.appendChild(copy);
  if (node.shadowRoot) copyShadow(copy, node.shadowRoot, snapshot);
  if (node instanceof HTMLTextAreaElement) copy.textContent = node.value;
  else for (const child of node.childNodes) copyInto(copy, child, snapshot);
}

/** A shadow tree stays one, so that its styles stay inside: declared, which needs no script.
 * @param {Element} copy @param {ShadowRoot} root @param {Snapshot} snapshot */
function copyShadow(copy, root, snapshot) {
  const template = snapshot.target.createElement('template');
  template.setAttribute('shadowrootmode', 'open');
  addStyles(template.content, [...root.styleSheets, ...root.adoptedStyleSheets], snapshot);
  for (const child of root.childNodes) copyInto(template.content, child, snapshot);
  copy.appendChild(template);
}

/** @param {Element} node @param {Element} copy */
function copyAttributes(node, copy) {
  for (const { name, value } of node.attributes) {
    const lower = name.toLowerCase();
    if (KEPT_NAMES.has(lower) || /^(aria|data)-[\w.-]+$/.test(lower)) copy.setAttribute(name, value);
    else if (lower === 'style') copy.setAttribute('style', tameCss(value));
    else if (lower === 'href' && node.localName === 'a') {
      const url = absolute(value);
      if (url !== '') copy.setAttribute('href', url);
    }
  }
}

/** What the page shows, but does not write into its attributes. @param {Element} node @param {Element} copy @param {Snapshot} snapshot */
function keepState(node, copy, snapshot) {
  if (node instanceof HTMLInputElement) {
    if (node.type === 'password') copy.removeAttribute('value');
    else if (node.type !== 'file') copy.setAttribute('value', node.value);
    copy.toggleAttribute('checked', node.checked);
  } else if (node instanceof HTMLOptionElement) copy.toggleAttribute('selected', node.selected);
  else if (node instanceof HTMLImageElement && node.currentSrc !== '') {
    const { width, height } = node.getBoundingClientRect();
    if (width > 0 && height > 0) {
      copy.setAttribute('width', String(Math.round(width)));
      copy.setAttribute('height', String(Math.round(height)));
      snapshot.images.push({ copy, url: node.currentSrc });
    }
  }
}

/** @param {Snapshot} snapshot @returns {Promise<string>} the document; images that can't be had in time stay empty boxes */
async function finishSnapshot({ target, images }) {
  const stop = AbortSignal.timeout(IMAGE_BUDGET_MS);
  let budget = IMAGE_BUDGET_BYTES;
  const load = images.map(async ({ copy, url }) => {
    try {
      const response = await fetch(url, { cache: 'force-cache', signal: stop });
      const blob = await response.blob();
      if (!/^image\/(png|jpe?g|gif|webp|avif|svg\+xml)/.test(blob.type) || blob.size > budget) return;
      budget -= blob.size;
      copy.setAttribute('src', await toDataUrl(blob));
    } catch {
      // Refused by the page's own policy, gone, or too slow: the box keeps its size and its text.
      copy.removeAttribute('src');
    }
  });
  await Promise.all(load);
  return `<!doctype html>\n${target.documentElement.outerHTML}`;
}

/** @param {Blob} blob @returns {Promise<string>} */
function toDataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error('the image cannot be read'));
    reader.readAsDataURL(blob);
  });
}
