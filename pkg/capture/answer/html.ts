import type { Element, RootContent } from 'hast';
import { createTreeBuilder, type TreeBuilder } from './builder.ts';
import { toRole, type CiteFinder } from './cites.ts';
import {
  attribute,
  codeLanguage,
  findElement,
  findElements,
  isBlock,
  isElement,
  isSilent,
  sourceText,
} from './html-elements.ts';
import { collectCodeBars, type CodeBars } from './html-code.ts';
import { parseHtml } from './html-source.ts';
import { collectNotes, type Notes } from './html-notes.ts';
import { readFormula } from './html-math.ts';
import { findAlignments, findCodeCells, findTableParts, hasHead, layOutRows } from './html-table.ts';
import { headingDepth, PLAIN, type Block, type Cite, type Marks } from './tree.ts';

/** Reads HTML into the answer tree, in one walk over the parsed document. */
export function readHtmlTree(html: string, cites: CiteFinder): Block[] {
  const builder = createTreeBuilder();
  readHtmlInto(builder, html, cites);
  return builder.finish();
}

/** The same for HTML that stands inside another text. */
export function readHtmlInto(builder: TreeBuilder, html: string, cites: CiteFinder): void {
  const root = parseHtml(html);
  walkAll(root.children, PLAIN, {
    builder,
    cites,
    notes: collectNotes(root),
    bars: collectCodeBars(root),
    inHeading: false,
  });
}

type Walk = { builder: TreeBuilder; cites: CiteFinder; notes: Notes; bars: CodeBars; inHeading: boolean };

const STYLES: Record<string, Partial<Marks>> = {
  b: { strong: true },
  strong: { strong: true },
  i: { emphasis: true },
  em: { emphasis: true },
  s: { strike: true },
  del: { strike: true },
  strike: { strike: true },
  code: { code: true },
  kbd: { code: true },
  samp: { code: true },
  tt: { code: true },
};

function walkAll(nodes: readonly RootContent[], marks: Marks, walk: Walk): void {
  for (const node of nodes) {
    if (node.type === 'text') walk.builder.text(node.value, marks);
    else if (isElement(node)) walkElement(node, marks, walk);
  }
}

function walkElement(node: Element, marks: Marks, walk: Walk): void {
  const { builder } = walk;
  // Asked first, because a mark may be a button or an icon, which are silent otherwise.
  if (isMarked(node)) {
    readCitation(node, marks, walk);
    return;
  }
  if (isSilent(node) || walk.notes.isSource(node) || walk.bars.isLabel(node)) return;
  const formula = readFormula(node);
  if (formula !== null) {
    builder.text(formula, marks);
    return;
  }
  const children = (): void => walkAll(node.children, marks, walk);
  const level = headingLevel(node);
  if (level !== null) {
    builder.heading(headingDepth(level), () => walkAll(node.children, marks, { ...walk, inHeading: true }));
    return;
  }
  switch (node.tagName) {
    case 'a': {
      readAnchor(node, marks, walk);
      return;
    }
    case 'br': {
      builder.breakLine();
      return;
    }
    case 'hr': {
      builder.rule();
      return;
    }
    case 'img': {
      readImage(node, marks, walk);
      return;
    }
    case 'pre':
    case 'listing':
    case 'xmp': {
      readCode(node, marks, walk);
      return;
    }
    case 'blockquote': {
      builder.quote(children);
      return;
    }
    case 'ul':
    case 'ol':
    case 'menu':
    case 'dir': {
      builder.list(listStart(node), () => readItems(node, marks, walk));
      return;
    }
    case 'li': {
      builder.item(children, readBox(node));
      return;
    }
    case 'details': {
      // What is folded away is not seen.
      const isOpen = attribute(node, 'open') !== undefined;
      const shown = node.children.filter((child) => isOpen || (isElement(child) && child.tagName === 'summary'));
      builder.flow(() => walkAll(shown, marks, walk));
      return;
    }
    case 'table': {
      readTable(node, marks, walk);
      return;
    }
    case 'q':
      builder.text('“', marks);
      children();
      {
        builder.text('”', marks);
        return;
      }
  }
  if (isBlock(node)) {
    builder.flow(children);
    return;
  }
  const style = Object.hasOwn(STYLES, node.tagName) ? STYLES[node.tagName] : undefined;
  walkAll(node.children, style === undefined ? marks : { ...marks, ...style }, walk);
}

function headingLevel(node: Element): number | null {
  const tag = /^h([1-6])$/.exec(node.tagName);
  if (tag !== null) return Number(tag[1]);
  if (attribute(node, 'role') !== 'heading') return null;
  const level = Number(attribute(node, 'ariaLevel') ?? 2);
  return Number.isFinite(level) ? level : 2;
}

function readAnchor(node: Element, marks: Marks, walk: Walk): void {
  const note = walk.notes.find(node);
  if (note !== null) {
    const cite = walk.cites.ofUrl(note.url ?? undefined, note.title, 'citation');
    if (cite !== null) walk.builder.chip(cite, true);
    return;
  }
  // The handle of a heading: a person would not read it out.
  const isHandle = walk.inHeading && (attribute(node, 'href') ?? '').startsWith('#');
  if (isHandle && !/[\p{L}\p{N}]/u.test(sourceText(node))) return;
  const cite = marks.link === null ? walk.cites.ofUrl(attribute(node, 'href'), '', 'citation') : null;
  readLinked(node.children, cite, marks, walk);
}

/** A link that shows no text can't be a link of the answer, but what it cites is cited. */
function readLinked(nodes: readonly RootContent[], cite: Cite | null, marks: Marks, walk: Walk): void {
  const before = walk.builder.words();
  walk.builder.gap('links');
  walkAll(nodes, cite === null ? marks : { ...marks, link: cite }, walk);
  if (cite !== null && walk.builder.words() === before) walk.builder.chip(cite, false);
}

/** An element that the in-page reader marked; see `readHtml` for the attributes. */
function readCitation(node: Element, marks: Marks, walk: Walk): void {
  const cites = findCites(node, marks, walk.cites);
  if (attribute(node, 'dataScsChip') === undefined) {
    readLinked(node.children, cites[0] ?? null, marks, walk);
    return;
  }
  if (cites.length === 0) walk.builder.gap('words');
  for (const cite of cites) walk.builder.chip(cite, true);
}

function isMarked(node: Element): boolean {
  return attribute(node, 'dataScsCite') !== undefined;
}

/** One mark may stand for several sources: `+2`, `[1, 3]`. */
function findCites(node: Element, marks: Marks, cites: CiteFinder): Cite[] {
  const role = toRole(attribute(node, 'dataScsCite') ?? '');
  const titles = (attribute(node, 'dataScsTitle') ?? '').split('\n');
  const [title = ''] = titles;
  const inner = (): string | undefined => {
    const anchor = findElement(node, (element) => element.tagName === 'a' && attribute(element, 'href') !== undefined);
    return anchor === null ? undefined : attribute(anchor, 'href');
  };
  const urls = (attribute(node, 'dataScsUrl') ?? '').split(' ');
  const named = urls.flatMap((url, index) => cites.ofUrl(url, titles[index] ?? '', role) ?? []);
  if (named.length > 0) return named;
  const referred = cites.ofRefs(attribute(node, 'dataScsRef'), title, role);
  if (referred.length > 0) return referred;
  const around =
    cites.ofUrl(attribute(node, 'href'), title, role) ??
    cites.ofUrl(inner(), title, role) ??
    cites.ofUrl(marks.link?.url, title, role);
  return around === null ? [] : [around];
}

function readImage(node: Element, marks: Marks, { builder }: Walk): void {
  builder.gap('words');
  const alt = attribute(node, 'alt') ?? '';
  if (alt.trim() === '') return;
  builder.text(alt, marks);
  builder.gap('words');
}

function readCode(node: Element, marks: Marks, { builder, cites, bars }: Walk): void {
  const parts = findElements(node, (element) => element.tagName === 'code');
  // Pages put a label and a copy button into the same box; the code is then the one element that says so.
  const [code = node] = parts.length === 1 ? parts : [];
  builder.code(codeLanguage([...parts, node]) ?? bars.languageOf(node), sourceText(code));
  // A code block holds no links, but what it cites is cited.
  for (const link of findElements(node, (element) => element.tagName === 'a' || isMarked(element))) {
    const cited = isMarked(link)
      ? findCites(link, marks, cites)
      : [cites.ofUrl(attribute(link, 'href'), '', 'citation')].filter((cite) => cite !== null);
    for (const cite of cited) builder.chip(cite, false);
  }
}

/** Where a line has a cell of its own, it ends with it. */
function readCodeLines(table: Element, lines: readonly Element[], builder: TreeBuilder): void {
  const parts = findElements(table, (element) => ['pre', 'code'].includes(element.tagName));
  const inside = parts.flatMap((part) => findElements(part, (element) => element.tagName === 'code'));
  builder.code(
    codeLanguage([...inside, ...parts, table]),
    lines.map((line) => sourceText(line).replace(/\n$/, '')).join('\n'),
  );
}

function listStart(node: Element): number | null {
  if (node.tagName !== 'ol') return null;
  const start = Number.parseInt(attribute(node, 'start') ?? '1', 10);
  return Number.isSafeInteger(start) && start >= 0 && start < 1_000_000_000 ? start : 1;
}

/** A box to tick that stands in the item itself, not in a list inside it. */
function readBox(item: Element): boolean | null {
  for (const child of item.children) {
    if (!isElement(child) || ['ul', 'ol'].includes(child.tagName)) continue;
    if (child.tagName === 'input' && attribute(child, 'type') === 'checkbox')
      return attribute(child, 'checked') !== undefined;
    const box = ['p', 'label', 'span', 'div'].includes(child.tagName) ? readBox(child) : null;
    if (box !== null) return box;
  }
  return null;
}

/** Pages wrap items in elements of their own; whatever else stands in a list is an item too. */
function readItems(node: Element, marks: Marks, walk: Walk): void {
  for (const child of node.children) {
    if (child.type === 'text' && child.value.trim() !== '') {
      walk.builder.item(() => walkAll([child], marks, walk));
    } else if (isElement(child) && !isSilent(child)) {
      if (child.tagName === 'li') walkElement(child, marks, walk);
      else if (wrapsItems(child, 4)) readItems(child, marks, walk);
      else walk.builder.item(() => walkElement(child, marks, walk));
    }
  }
}

function wrapsItems(node: Element, levels: number): boolean {
  if (levels === 0 || ['ul', 'ol', 'menu', 'dir', 'table'].includes(node.tagName)) return false;
  return node.children.some((child) => isElement(child) && (child.tagName === 'li' || wrapsItems(child, levels - 1)));
}

function readTable(node: Element, marks: Marks, walk: Walk): void {
  const { builder } = walk;
  const { captions, rows } = findTableParts(node);
  if (builder.isOneLine() || rows.length === 0) {
    builder.flow(() => walkAll(node.children, marks, walk));
    return;
  }
  for (const caption of captions) walkElement(caption, marks, walk);
  const lines = findCodeCells(rows);
  if (lines !== null) {
    readCodeLines(node, lines, builder);
    return;
  }
  builder.table({
    rows: layOutRows(rows, (cell) => builder.cell(() => walkAll(cell.children, marks, walk))),
    alignments: findAlignments(rows),
    hasHead: hasHead(node, rows),
  });
}
