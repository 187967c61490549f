// What only a style sheet or a control tells of the answer, as attributes that survive without it. Runs inside the page.

const SIDES = new Set(['left', 'center', 'right']);

/** Marks the copy with what the page shows by style or state: columns, ticked boxes, lines of code.
 * @param {Element} copy @param {Element} node @param {CSSStyleDeclaration} style */
function keepForm(copy, node, style) {
  // Notes are found by the place that their marks lead to.
  if (node.id !== '') copy.id = node.id;
  if (node instanceof HTMLTableCellElement && node.tagName === 'TD' && SIDES.has(style.textAlign))
    copy.setAttribute('align', style.textAlign);
  if (node instanceof HTMLInputElement && node.type === 'checkbox') {
    copy.setAttribute('type', 'checkbox');
    if (node.checked) copy.setAttribute('checked', '');
  }
  for (const name of ['data-language', 'data-lang', 'data-footnote-backref', 'encoding', 'display']) {
    const value = node.getAttribute(name);
    if (value !== null) copy.setAttribute(name, value);
  }
  if (isCodeLine(node, style)) copy.setAttribute('data-scs-line', '');
}

/** A line of code that the style sheet makes one, as highlighters write them: `<span class="line">`.
 * @param {Element} node @param {CSSStyleDeclaration} style */
function isCodeLine(node, style) {
  if (!/^(block|flex|grid|list-item|table-row)$/.test(style.display) || node.closest('pre') === null) return false;
  if (style.position === 'absolute' || style.float !== 'none') return false;
  const around = parentOf(node);
  const row = around === null ? null : getComputedStyle(around);
  // What stands in a row counts as a block for the style sheet, and side by side for the eye.
  return row === null || !/flex|grid/.test(row.display) || row.flexDirection.startsWith('column');
}

/** True for what people do not see, or can't take away with the words around it.
 * @param {Element} node @param {CSSStyleDeclaration} style */
function isUnseen(node, style) {
  if (style.position === 'absolute' && node.querySelector('math') === null && isClipped(style)) return true;
  if (style.userSelect !== 'none' || node.closest('pre') === null) return false;
  const around = parentOf(node);
  return around !== null && getComputedStyle(around).userSelect !== 'none';
}

/** Cut down to nothing, as text for screen readers is. @param {CSSStyleDeclaration} style */
function isClipped(style) {
  const tiny = style.overflow === 'hidden' && parseFloat(style.width) <= 1 && parseFloat(style.height) <= 1;
  return tiny || /^rect\([01]px,? [01]px,? [01]px,? [01]px\)$/.test(style.clip) || style.clipPath === 'inset(50%)';
}
