import { fromHtml } from 'hast-util-from-html';
import type { Nodes } from 'hast';

/** A proof page is stored and shown to people: a larger one is of no use to them. */
const MAX_CHARS = 8_000_000;

const FORBIDDEN = new Set(
  'script iframe frame frameset object embed applet base link foreignobject animate set use noscript'.split(' '),
);
const REFERENCES = new Set([
  'src',
  'srcset',
  'poster',
  'background',
  'action',
  'formaction',
  'data',
  'ping',
  'xlinkhref',
]);

/**
 * Null when the proof is what it must be: self-contained and without anything that runs. Otherwise what is wrong with
 * it. The page made it, so what the page promises is checked here once more, as a parser will read it.
 */
export function findProofFault(html: string): string | null {
  if (html.length > MAX_CHARS) return `it is longer than ${MAX_CHARS} characters`;
  return findFault(fromHtml(html));
}

function findFault(node: Nodes): string | null {
  if (node.type === 'element') {
    const fault = FORBIDDEN.has(node.tagName.toLowerCase()) ? `it holds <${node.tagName}>` : null;
    const found = fault ?? findAttributeFault(node.tagName, node.properties);
    if (found !== null) return found;
    // A template's content hangs beside its children.
    if (node.content !== undefined) {
      const inside = findFault(node.content);
      if (inside !== null) return inside;
    }
  }
  if (!('children' in node)) return null;
  for (const child of node.children) {
    const fault = findFault(child);
    if (fault !== null) return fault;
  }
  return null;
}

function findAttributeFault(tagName: string, properties: Readonly<Record<string, unknown>>): string | null {
  for (const [name, value] of Object.entries(properties)) {
    const lower = name.toLowerCase();
    const text = String(value).trim().toLowerCase();
    if (lower.startsWith('on')) return `<${tagName}> has ${name}`;
    if (lower === 'href' && !/^(https?:|#)/.test(text)) return `<${tagName}> links to ${text.slice(0, 40)}`;
    if (REFERENCES.has(lower) && !text.startsWith('data:image/')) return `<${tagName}> loads ${text.slice(0, 40)}`;
    if (lower === 'httpequiv' && text !== 'content-security-policy') return `<${tagName}> has http-equiv ${text}`;
  }
  return null;
}
