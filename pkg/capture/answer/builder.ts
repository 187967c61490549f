import { foldInlines, visibleText } from './fold.ts';
import {
  PLAIN,
  type Block,
  type Cite,
  type HeadingDepth,
  type Inline,
  type Item,
  type Marks,
  type Table,
} from './tree.ts';

/** Quotes and lists nested deeper than this are read as if they stood at this depth; no reader tells them apart. */
const MAX_NESTING = 16;

const LANGUAGE = /^[\p{L}\p{N}][\p{L}\p{N}+#._-]{0,39}$/u;

export type TreeBuilder = ReturnType<typeof createTreeBuilder>;

/**
 * Builds the answer tree from what a reader of HTML or markdown meets, in document order. Whatever the order of calls,
 * the tree is well formed: blocks inside inline elements end the paragraph, blocks inside headings and table cells,
 * which hold one line only, become words of that line.
 */
export function createTreeBuilder() {
  let blocks: Block[] = [];
  let items: Item[] | null = null;
  let inlines: Inline[] = [];
  let oneLine = false;
  let depth = 0;
  let words = 0;

  function endParagraph(): void {
    if (oneLine) {
      inlines.push({ kind: 'text', text: ' ', marks: PLAIN });
      return;
    }
    const paragraphs = foldInlines(inlines);
    inlines = [];
    for (const paragraph of paragraphs) pushParagraph(paragraph);
  }

  function pushParagraph(paragraph: Inline[]): void {
    const home = paragraph.some((inline) => inline.kind === 'text') ? null : lastParagraph(blocks);
    // Chips in a row of their own below the text are about that text.
    if (home === null) blocks.push({ kind: 'paragraph', inlines: paragraph });
    else for (const inline of paragraph) home.push(inline);
  }

  /** Reads `content` as one line and gives its inlines. */
  function line(content: () => void): Inline[] {
    const outer = { inlines, oneLine };
    inlines = [];
    oneLine = true;
    content();
    const paragraphs = foldInlines(inlines);
    inlines = outer.inlines;
    oneLine = outer.oneLine;
    return paragraphs.flat();
  }

  function nested(content: () => void): Block[] {
    const outer = { blocks, items };
    blocks = [];
    items = null;
    depth += 1;
    content();
    endParagraph();
    const inner = blocks;
    blocks = outer.blocks;
    items = outer.items;
    depth -= 1;
    return inner;
  }

  function flow(content: () => void): void {
    endParagraph();
    content();
    endParagraph();
  }

  return {
    flow,
    /** How many pieces of visible text were written so far. */
    words: (): number => words,
    text(text: string, marks: Marks): void {
      inlines.push({ kind: 'text', text, marks });
      if (text.trim() !== '') words += 1;
    },
    breakLine(): void {
      inlines.push(oneLine ? { kind: 'text', text: ' ', marks: PLAIN } : { kind: 'break' });
    },
    gap(between: 'words' | 'links'): void {
      inlines.push({ kind: 'gap', between });
    },
    chip(cite: Cite, supports: boolean): void {
      inlines.push({ kind: 'chip', cite, supports });
    },
    heading(level: HeadingDepth, content: () => void): void {
      if (oneLine) {
        flow(content);
        return;
      }
      endParagraph();
      const inner = line(content);
      if (inner.some((inline) => inline.kind === 'text'))
        blocks.push({ kind: 'heading', depth: level, inlines: inner });
      else if (inner.length > 0) pushParagraph(inner);
    },
    code(language: string | null, source: string): void {
      const value = visibleText(source.replace(/\r\n?/g, '\n')).replace(/^(?:[^\S\n]*\n)+|\s+$/g, '');
      if (value === '') return;
      words += 1;
      if (oneLine) {
        flow(() => inlines.push({ kind: 'text', text: value, marks: PLAIN }));
        return;
      }
      endParagraph();
      blocks.push({ kind: 'code', language: language !== null && LANGUAGE.test(language) ? language : null, value });
    },
    rule(): void {
      endParagraph();
      // Inside an item it would be taken for the bullet of another list.
      if (!oneLine && depth === 0) blocks.push({ kind: 'rule' });
    },
    quote(content: () => void): void {
      if (oneLine || depth >= MAX_NESTING) {
        flow(content);
        return;
      }
      endParagraph();
      const inner = nested(content);
      if (inner.length > 0) blocks.push({ kind: 'quote', blocks: inner });
    },
    /** `start` is the first number of an ordered list, null for bullets. `content` calls `item`. */
    list(start: number | null, content: () => void): void {
      if (oneLine || depth >= MAX_NESTING) {
        flow(content);
        return;
      }
      endParagraph();
      const outer = items;
      const own: Item[] = [];
      items = own;
      content();
      items = outer;
      if (own.length > 0) blocks.push({ kind: 'list', start, items: own });
    },
    /** Outside a list an item is a paragraph. */
    item(content: () => void, checked: boolean | null = null): void {
      if (items === null || oneLine) {
        flow(content);
        return;
      }
      const home = items;
      const inner = nested(content);
      if (inner.length > 0) home.push({ checked, blocks: inner });
    },
    cell: line,
    /** True where a table can't stand as one, because the place holds a single line. */
    isOneLine: (): boolean => oneLine,
    /** Rows and alignments may be of different lengths. */
    table({ rows, alignments, hasHead }: Table): void {
      endParagraph();
      const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
      if (width === 0) return;
      for (const row of rows) while (row.length < width) row.push([]);
      const aligned = Array.from({ length: width }, (_, column) => alignments[column] ?? null);
      blocks.push({ kind: 'table', rows, alignments: aligned, hasHead });
    },
    finish(): Block[] {
      endParagraph();
      return blocks;
    },
  };
}

function lastParagraph(blocks: readonly Block[]): Inline[] | null {
  const last = blocks.at(-1);
  if (last === undefined) return null;
  if (last.kind === 'paragraph') return last.inlines;
  if (last.kind === 'quote') return lastParagraph(last.blocks);
  if (last.kind === 'list') return lastParagraph(last.items.at(-1)?.blocks ?? []);
  return null;
}
