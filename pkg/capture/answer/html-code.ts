import type { Element, Root, RootContent } from 'hast';
import { attribute, codeLanguage, findElements, isElement, isSilent } from './html-elements.ts';

/** The bars above code blocks: what only names the language is chrome of the page, like the button beside it. */
export type CodeBars = { isLabel(element: Element): boolean; languageOf(pre: Element): string | null };

/** How far around a code block its bar is looked for. */
const MAX_BOXES = 4;
/** Of elements in one bar; what holds more is no bar. */
const MAX_ELEMENTS = 60;
const BOXES = new Set(['div', 'figure', 'section', 'header', 'span']);
/** One word, as languages are named: `Objective-C`, `c++`, `F#`. */
const NAME = /^[\p{L}][\p{L}\d+#.-]{0,19}$/u;

type Found = { labels: { element: Element; text: string }[]; hasButton: boolean; elements: number; isBar: boolean };

/**
 * Finds the bars of all code blocks. What stands there is the language where the code names the same one, or where it
 * names none and a button stands beside the word. A word in a paragraph or heading is what the author wrote.
 */
export function collectCodeBars(root: Root): CodeBars {
  const labels = new Set<Element>();
  const languages = new Map<Element, string>();

  function visit(node: Root | Element, around: readonly Element[]): void {
    for (const child of node.children) {
      if (!isElement(child)) continue;
      if (child.tagName === 'pre') findBar(child, around);
      else visit(child, [child, ...around.slice(0, MAX_BOXES - 1)]);
    }
  }

  function findBar(pre: Element, around: readonly Element[]): void {
    const code = findElements(pre, ({ tagName }) => tagName === 'code');
    let inside: Element = pre;
    const found: Found = { labels: [], hasButton: false, elements: 0, isBar: true };
    for (const box of around) {
      if (!BOXES.has(box.tagName)) return;
      for (const child of box.children) if (child !== inside) gather(child, box, found);
      if (!found.isBar || found.labels.length > 1) return;
      const [label] = found.labels;
      const named = codeLanguage([...code, pre]) ?? codeLanguage([box]);
      if (label !== undefined && label.element !== box && NAME.test(label.text)) {
        const isLanguage = named === null ? found.hasButton : named.toLowerCase() === label.text.toLowerCase();
        if (!isLanguage) return;
        labels.add(label.element);
        languages.set(pre, named ?? label.text.toLowerCase());
        return;
      }
      if (label !== undefined) return;
      inside = box;
    }
  }

  visit(root, []);
  return { isLabel: (element) => labels.has(element), languageOf: (pre) => languages.get(pre) ?? null };
}

function gather(node: RootContent, holder: Element, found: Found): void {
  if (node.type === 'text') {
    const text = node.value.trim();
    if (text !== '') found.labels.push({ element: holder, text });
  } else if (isElement(node)) {
    found.elements += 1;
    if (node.tagName === 'button' || attribute(node, 'role') === 'button') found.hasButton = true;
    else if (isSilent(node)) return;
    else if (!BOXES.has(node.tagName) || found.elements > MAX_ELEMENTS) found.isBar = false;
    else for (const child of node.children) if (found.isBar) gather(child, node, found);
  }
}
