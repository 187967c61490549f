import type { Element } from 'hast';
import { toHtml } from 'hast-util-to-html';
import { MathMLToLaTeX } from 'mathml-to-latex';
import { attribute, findElement, isElement, plainText } from './html-elements.ts';

/** Longer ones are no formula, and the converter is recursive. */
const MAX_MATHML_LENGTH = 20_000;

/**
 * A formula as TeX, or null for what is none: as it was written where the page tells (KaTeX, and MathML with an
 * annotation), else as its MathML says (MathJax). A formula that stands there only as placed letters is read as these.
 */
export function readFormula(node: Element): string | null {
  if (node.tagName === 'math') return readMathml(node);
  const classes = (attribute(node, 'className') ?? '').split(' ');
  if (!classes.includes('katex') && node.tagName !== 'mjx-container') return null;
  const math = findElement(node, (element) => element.tagName === 'math');
  if (math !== null) return readMathml(math);
  const tex = findElement(node, (element) => isTex(element));
  return tex === null ? plainText(node) : plainText(tex).trim();
}

function readMathml(math: Element): string {
  const written = findElement(math, isTex);
  if (written !== null) return plainText(written).trim();
  const source = toHtml(math, { space: 'svg' });
  const symbols = plainText(math).replace(/\s+/g, ' ').trim();
  if (source.length > MAX_MATHML_LENGTH) return symbols;
  try {
    return MathMLToLaTeX.convert(source) || symbols;
  } catch {
    // Its symbols in a row are better than no formula: the converter knows only well-formed MathML.
    return symbols;
  }
}

function isTex(element: Element): boolean {
  const encoding = attribute(element, 'encoding');
  return isElement(element) && element.tagName === 'annotation' && (encoding === undefined || /tex/i.test(encoding));
}
