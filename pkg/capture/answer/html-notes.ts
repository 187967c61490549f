import type { Element, Root } from 'hast';
import { attribute, findElement, findElements, isElement, plainText } from './html-elements.ts';
import { noteTitle } from './markers.ts';

export type Note = { url: string | null; title: string };

export type Notes = {
  /** What a mark in the text (`[1]`) or the way back from a note (`↩`) stands for; null for any other link. */
  find(anchor: Element): Note | null;
  /** True for a note that names a source: it is that source, and no text. */
  isSource(element: Element): boolean;
};

/** What the mark of a note looks like: a number or a sign, in brackets or not. */
const MARK = /^\s*[[(]?\s*(?:\d{1,3}|[*†‡§¶]|[a-z])\s*[\])]?\s*$/iu;
const BACK = /^[\s↩⤴↑^\ufe0e\ufe0f]*(?:\d{1,3})?[\s\ufe0e\ufe0f]*$/u;

/** Footnotes, as renderers of markdown write them: marks that lead to a place in the answer, and notes that lead back. */
export function collectNotes(root: Root): Notes {
  const anchors = root.children.filter((child) => isElement(child)).flatMap(findAnchors);
  const marks = anchors.filter((anchor) => MARK.test(plainText(anchor)) && targetOf(anchor) !== '');
  const wanted = new Set(marks.map(targetOf));
  const notes = new Map<string, { element: Element; note: Note }>();
  if (wanted.size > 0) {
    for (const child of root.children) if (isElement(child)) findNotes(child, wanted, notes);
  }
  const sources = new Set([...notes.values()].filter(({ note }) => note.url !== null).map(({ element }) => element));
  return {
    find: (anchor) => {
      const target = targetOf(anchor);
      if (target === '') return null;
      if (attribute(anchor, 'dataFootnoteBackref') !== undefined || isBackref(anchor)) return { url: null, title: '' };
      return MARK.test(plainText(anchor)) ? (notes.get(target)?.note ?? null) : null;
    },
    isSource: (element) => sources.has(element),
  };
}

function findAnchors(element: Element): Element[] {
  return findElements({ ...element, children: [element] }, ({ tagName }) => tagName === 'a');
}

function targetOf(anchor: Element): string {
  const href = attribute(anchor, 'href') ?? '';
  return href.startsWith('#') ? decode(href.slice(1)) : '';
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign names itself.
    return text;
  }
}

function isBackref(anchor: Element): boolean {
  const text = plainText(anchor);
  const named = /footnote-?back|fn-?back|reversefootnote/i.test(attribute(anchor, 'className') ?? '');
  return named || (/[↩⤴]/u.test(text) && BACK.test(text));
}

function findNotes(
  element: Element,
  wanted: ReadonlySet<string>,
  notes: Map<string, { element: Element; note: Note }>,
): void {
  const id = attribute(element, 'id');
  if (id !== undefined && wanted.has(id) && !notes.has(id) && leadsBack(element)) {
    notes.set(id, { element, note: readNote(element) });
    return;
  }
  for (const child of element.children) if (isElement(child)) findNotes(child, wanted, notes);
}

/** Without a way back, it is a section that a table of contents leads to. */
function leadsBack(element: Element): boolean {
  return findElement(element, (inner) => inner.tagName === 'a' && targetOf(inner) !== '' && isWayBack(inner)) !== null;
}

function isWayBack(anchor: Element): boolean {
  return attribute(anchor, 'dataFootnoteBackref') !== undefined || isBackref(anchor);
}

function readNote(element: Element): Note {
  const link = findElement(
    element,
    (inner) => inner.tagName === 'a' && /^(?:https?:)?\/\//i.test(attribute(inner, 'href') ?? ''),
  );
  const url = link === null ? null : (attribute(link, 'href') ?? null);
  return { url, title: url === null ? '' : noteTitle(plainText(element).replace(/\s+/g, ' '), url) };
}
