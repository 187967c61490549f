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

/** `pictures` are the URLs of pictures that styles name; their places in the CSS hold their index until they are loaded.
 * @typedef {{target: Document, images: {copy: Element, url: string}[], pictures: string[], styleChars: number}} Snapshot */

/** @returns {Snapshot} */
function takeSnapshot() {
  const target = document.implementation.createHTMLDocument(document.title);
  /** @type {Snapshot} */
  const snapshot = { target, images: [], pictures: [], styleChars: 0 };
  const meta = target.createElement('meta');
  meta.httpEquiv = 'Content-Security-Policy';
  meta.content = PROOF_POLICY;
  const charset = target.createElement('meta');
  charset.setAttribute('charset', 'utf-8');
  target.head.prepend(charset, meta);
  addStyles(target.head, [...document.styleSheets, ...document.adoptedStyleSheets], snapshot);
  copyAttributes(document.documentElement, target.documentElement, snapshot);
  if (document.body) {
    copyAttributes(document.body, target.body, snapshot);
    for (const child of document.body.childNodes) copyInto(target.body, child, snapshot);
  }
  return snapshot;
}

// A document in an iframe has classes of its own, so nodes and rules are told by what they have.

/** @param {Node} node @returns {node is Text} */
const isText = (node) => node.nodeType === Node.TEXT_NODE;
/** @param {Node} node @returns {node is Element} */
const isElement = (node) => node.nodeType === Node.ELEMENT_NODE;
/** @param {Element} node @returns {node is HTMLInputElement} */
const isInput = (node) => node.localName === 'input' && 'value' in node;
/** @param {Element} node @returns {node is HTMLTextAreaElement} */
const isTextArea = (node) => node.localName === 'textarea' && 'value' in node;
/** @param {Element} node @returns {node is HTMLOptionElement} */
const isOption = (node) => node.localName === 'option' && 'selected' in node;
/** @param {Element} node @returns {node is HTMLImageElement} */
const isImage = (node) => node.localName === 'img' && 'currentSrc' in node;
/** @param {Element} node @returns {node is HTMLCanvasElement} */
const isCanvas = (node) => node.localName === 'canvas' && 'toDataURL' in node;
/** @param {Element} node @returns {node is HTMLIFrameElement} */
const isFrame = (node) => node.localName === 'iframe' && 'contentDocument' in node;
/** @param {CSSRule} rule @returns {rule is CSSImportRule} */
const isImport = (rule) => 'styleSheet' in rule;

/** @param {Node} parent @param {Iterable<CSSStyleSheet>} sheets @param {Snapshot} snapshot */
function addStyles(parent, sheets, snapshot) {
  let css = '';
  for (const sheet of sheets) if (!sheet.disabled) css += wrapMedia(sheet, readRules(sheet, snapshot));
  css = escapeCss(css);
  if (css === '' || snapshot.styleChars + css.length > STYLE_BUDGET_CHARS) return;
  snapshot.styleChars += css.length;
  const style = snapshot.target.createElement('style');
  style.textContent = css;
  parent.appendChild(style);
}

/** @param {CSSStyleSheet} sheet @param {Snapshot} snapshot @returns {string} */
function readRules(sheet, snapshot) {
  let css = '';
  try {
    for (const rule of sheet.cssRules) {
      if (isImport(rule)) {
        if (rule.styleSheet) css += wrapMedia(rule.styleSheet, readRules(rule.styleSheet, snapshot));
      } else if (!/^@font-face/i.test(rule.cssText)) {
        css += `${tameCss(rule.cssText, sheet.href ?? document.baseURI, snapshot)}\n`;
      }
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

/** Takes from CSS what loads; pictures are kept for later. @param {string} css @param {string} base @param {Snapshot} snapshot */
function tameCss(css, base, snapshot) {
  return css
    .replace(/@import[^;]*;?/gi, '')
    .replace(/(?:-webkit-)?image-set\([^;}]*/gi, 'none')
    .replace(/url\(\s*("[^"]*"|'[^']*'|[^)]*?)\s*\)/gi, (_, /** @type {string} */ given) => {
      const url = given.replace(/^["']|["']$/g, '').replace(/\\([^0-9a-f])/gi, '$1');
      if (/^data:image\/(?:png|jpe?g|gif|webp)[;,]/i.test(url)) return `url("${url.replaceAll('"', '%22')}")`;
      const picture = /^data:/i.test(url) || url.startsWith('#') ? '' : absoluteFrom(url, base);
      if (picture === '') return 'none';
      const known = snapshot.pictures.indexOf(picture);
      return `url(snapshot:${known === -1 ? snapshot.pictures.push(picture) - 1 : known})`;
    });
}

/** @param {string} url @param {string} base @returns {string} empty when it is none that can be loaded */
function absoluteFrom(url, base) {
  const full = URL.canParse(url, base) ? new URL(url, base).href : '';
  return /^https?:/.test(full) ? full : '';
}

/** What would end the style element. @param {string} css */
function escapeCss(css) {
  return css.replace(/</g, '\\3c ');
}

/** @param {Node} parent @param {Node} node @param {Snapshot} snapshot */
function copyInto(parent, node, snapshot) {
  if (isText(node)) {
    parent.appendChild(snapshot.target.createTextNode(node.data));
    return;
  }
  if (!isElement(node)) return;
  if (isFrame(node)) {
    copyFrame(parent, node, snapshot);
    return;
  }
  if (LEFT_OUT.has(node.localName.toLowerCase())) return;
  const drawn = isCanvas(node);
  const copy = snapshot.target.createElementNS(node.namespaceURI, drawn ? 'img' : node.localName);
  copyAttributes(node, copy, snapshot);
  keepState(node, copy, snapshot);
  parent.appendChild(copy);
  if (drawn) return;
  if (node.shadowRoot) copyShadow(copy, node.shadowRoot, snapshot);
  if (isTextArea(node)) copy.textContent = node.value;
  else for (const child of node.childNodes) copyInto(copy, child, snapshot);
}

/** What an iframe shows becomes a box with a tree of its own, so that its styles stay inside. A document of another
 * origin does not let itself be read: its box stays empty. @param {Node} parent @param {HTMLIFrameElement} frame @param {Snapshot} snapshot */
function copyFrame(parent, frame, snapshot) {
  const box = snapshot.target.createElement('div');
  copyAttributes(frame, box, snapshot);
  box.setAttribute('data-proof', 'iframe');
  keepSize(frame, box);
  const inside = frame.contentDocument;
  if (inside?.body) {
    const template = declareShadow(box, snapshot);
    addStyles(template.content, [...inside.styleSheets, ...inside.adoptedStyleSheets], snapshot);
    for (const child of inside.body.childNodes) copyInto(template.content, child, snapshot);
  }
  parent.appendChild(box);
}

/** @param {Element} node @param {HTMLElement} box */
function keepSize(node, box) {
  const { width, height } = node.getBoundingClientRect();
  box.style.cssText += `;display:inline-block;overflow:auto;width:${Math.round(width)}px;height:${Math.round(height)}px`;
}

/** @param {Element} host @param {Snapshot} snapshot */
function declareShadow(host, snapshot) {
  const template = snapshot.target.createElement('template');
  template.setAttribute('shadowrootmode', 'open');
  host.appendChild(template);
  return template;
}

/** A shadow tree stays one, so that its styles stay inside: declared, which needs no script.
 * @param {Element} copy @param {ShadowRoot} root @param {Snapshot} snapshot */
function copyShadow(copy, root, snapshot) {
  const template = declareShadow(copy, snapshot);
  addStyles(template.content, [...root.styleSheets, ...root.adoptedStyleSheets], snapshot);
  for (const child of root.childNodes) copyInto(template.content, child, snapshot);
}

/** @param {Element} node @param {Element} copy @param {Snapshot} snapshot */
function copyAttributes(node, copy, snapshot) {
  for (const { name, value } of node.attributes) {
    const lower = name.toLowerCase();
    if (KEPT_NAMES.has(lower) || /^(aria|data)-[\w.-]+$/.test(lower)) copy.setAttribute(name, value);
    else if (lower === 'style') copy.setAttribute('style', tameCss(value, node.baseURI, snapshot));
    else if (lower === 'href' && node.localName === 'a') {
      const url = absolute(value);
      if (url !== '') copy.setAttribute('href', url);
    }
  }
}

/** What the page shows, but does not write into its attributes. @param {Element} node @param {Element} copy @param {Snapshot} snapshot */
function keepState(node, copy, snapshot) {
  if (isInput(node)) {
    if (node.type === 'password') copy.removeAttribute('value');
    else if (node.type !== 'file') copy.setAttribute('value', node.value);
    copy.toggleAttribute('checked', node.checked);
  } else if (isOption(node)) copy.toggleAttribute('selected', node.selected);
  else if (isImage(node) && node.currentSrc !== '') {
    if (keepBox(node, copy)) snapshot.images.push({ copy, url: node.currentSrc });
  } else if (isCanvas(node) && keepBox(node, copy)) {
    try {
      copy.setAttribute('src', node.toDataURL());
    } catch {
      // It shows a picture of another origin, and so does not let itself be read: the box keeps its size.
      copy.removeAttribute('src');
    }
  }
}

/** @param {Element} node @param {Element} copy @returns {boolean} false when it is not to be seen */
function keepBox(node, copy) {
  const { width, height } = node.getBoundingClientRect();
  if (width === 0 || height === 0) return false;
  copy.setAttribute('width', String(Math.round(width)));
  copy.setAttribute('height', String(Math.round(height)));
  return true;
}

/** @param {Snapshot} snapshot @returns {Promise<string>} the document; pictures that can't be had in time stay empty boxes */
async function finishSnapshot({ target, images, pictures }) {
  const stop = AbortSignal.timeout(IMAGE_BUDGET_MS);
  let budget = IMAGE_BUDGET_BYTES;
  /** @param {string} url @returns {Promise<string | null>} */
  const load = async (url) => {
    try {
      const response = await fetch(url, { cache: 'force-cache', signal: stop });
      const blob = await response.blob();
      // Its parameters are the server's words, and would stand in our document.
      const [type = ''] = blob.type.split(';');
      if (!/^image\/(png|jpe?g|gif|webp|avif|svg\+xml)$/.test(type) || blob.size > budget) return null;
      budget -= blob.size;
      return await toDataUrl(blob.slice(0, blob.size, type));
    } catch {
      // Refused by the page's own policy, gone, or too slow.
      return null;
    }
  };
  const loading = images.map(async ({ copy, url }) => {
    const data = await load(url);
    if (data !== null) copy.setAttribute('src', data);
  });
  const painted = await Promise.all(pictures.map(load));
  await Promise.all(loading);
  const html = target.documentElement.outerHTML.replace(/url\(snapshot:(\d+)\)/g, (_, /** @type {string} */ index) => {
    const data = painted[Number(index)];
    return data ? `url(${data})` : 'none';
  });
  return `<!doctype html>\n${html}`;
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
