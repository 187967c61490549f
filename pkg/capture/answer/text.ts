import type { AnswerBlock, BlockType, Source } from '../../contract/index.ts';
import { createSupport } from './sentences.ts';
import type { SourceList } from './sources.ts';
import type { Block, Cite, Inline } from './tree.ts';

export type TextBlock = { type: BlockType; text: string; start: number };

const BLOCK_TYPE: Record<Exclude<Block['kind'], 'rule'>, BlockType> = {
  paragraph: 'paragraph',
  heading: 'heading',
  code: 'code',
  quote: 'quote',
  list: 'list',
  // The contract knows no table: its rows are lines like those of a list.
  table: 'list',
};

/**
 * The plain text of a tree, and every citation with its range in that text. Blocks are joined by an empty line; inside
 * a block, items, table rows and nested blocks stand on lines of their own and cells are set apart by a tab, which
 * folded text can't hold otherwise. List markers are no text, as in a browser's `innerText`.
 */
export function writeText(blocks: readonly Block[], sources: SourceList): { text: string; blocks: TextBlock[] } {
  const writer = createWriter(sources);
  const written: TextBlock[] = [];
  for (const block of blocks) {
    const start = writer.nextBlock();
    writeBlock(block, writer);
    const text = writer.blockText();
    if (block.kind !== 'rule' && text !== '') written.push({ type: BLOCK_TYPE[block.kind], text, start });
  }
  return { text: written.map((block) => block.text).join('\n\n'), blocks: written };
}

/** Gives each block the ids of the sources whose ranges lie in it, in order of position. */
export function linkBlocks(blocks: readonly TextBlock[], sources: readonly Source[]): AnswerBlock[] {
  const marks = sources
    .flatMap(({ id, charRanges }) => charRanges.map(({ start }) => ({ id, start })))
    .sort((a, b) => a.start - b.start || a.id - b.id);
  let next = 0;
  return blocks.map(({ type, text, start }) => {
    const ids = new Set<number>();
    for (let mark = marks[next]; mark !== undefined && mark.start < start + text.length; mark = marks[next]) {
      ids.add(mark.id);
      next += 1;
    }
    return { type, text, referenceIds: [...ids] };
  });
}

type Writer = ReturnType<typeof createWriter>;

function createWriter(sources: SourceList) {
  const pieces: string[] = [];
  let length = 0;
  let blockStart = 0;
  let firstPiece = 0;
  let separator = '';
  let tabs = '';

  function push(text: string): void {
    pieces.push(text);
    length += text.length;
  }

  function open(): void {
    if (separator === '\n\n') {
      length += 2;
      separator = '';
    }
    push(separator + tabs);
    separator = '';
    tabs = '';
  }

  return {
    sources,
    /** Where the next block starts, should it have text. */
    nextBlock(): number {
      blockStart = length === 0 ? 0 : length + 2;
      separator = length === 0 ? '' : '\n\n';
      tabs = '';
      firstPiece = pieces.length;
      return blockStart;
    },
    /** A new line, if anything stands on this block's lines yet. */
    line(): void {
      tabs = '';
      if (length > blockStart) separator = '\n';
    },
    tab(): void {
      tabs += '\t';
    },
    /** Writes `text` and gives the offset it starts at. */
    write(text: string): number {
      open();
      const start = length;
      push(text);
      return start;
    },
    blockText: (): string => pieces.slice(firstPiece).join(''),
  };
}

function writeBlock(block: Block, writer: Writer): void {
  switch (block.kind) {
    case 'paragraph':
    case 'heading': {
      writeInlines(block.inlines, writer);
      return;
    }
    case 'code':
      writer.write(block.value);
      return;
    case 'quote': {
      writeLines(block.blocks, writer);
      return;
    }
    case 'list':
      for (const item of block.items) writeLines(item.blocks, writer);
      return;
    case 'table':
      for (const row of block.rows) writeRow(row, writer);
      return;
    case 'rule':
      return;
  }
}

function writeLines(blocks: readonly Block[], writer: Writer): void {
  for (const block of blocks) {
    writer.line();
    writeBlock(block, writer);
  }
}

function writeRow(cells: readonly Inline[][], writer: Writer): void {
  writer.line();
  for (const [index, cell] of cells.entries()) {
    if (index > 0) writer.tab();
    writeInlines(cell, writer);
  }
}

type Span = { cite: Cite; start: number; end: number; isLink: boolean };

/** Writes one line of thought and reports its citations in the order in which they stand there. */
function writeInlines(inlines: readonly Inline[], writer: Writer): void {
  const { text, marks } = measure(inlines);
  const base = text === '' ? 0 : writer.write(text);
  const support = createSupport(text);
  for (const mark of marks) {
    if ('end' in mark) {
      const { start, end } = trimSpan(text, mark);
      writer.sources.cite(
        mark.cite,
        { start: base + start, end: base + end },
        mark.isLink ? text.slice(start, end) : '',
      );
      continue;
    }
    const range = mark.supports ? support(mark.at) : null;
    const moved = range === null ? null : { start: base + range.start, end: base + range.end };
    writer.sources.cite(mark.cite, moved, '');
  }
}

function measure(inlines: readonly Inline[]) {
  const marks: (Span | { cite: Cite; at: number; supports: boolean })[] = [];
  const open = new Map<Cite, Span>();
  let text = '';
  for (const inline of inlines) {
    if (inline.kind === 'break') text += '\n';
    else if (inline.kind === 'chip') marks.push({ cite: inline.cite, at: text.length, supports: inline.supports });
    else if (inline.kind === 'text') {
      const start = text.length;
      text += inline.text;
      const { link, cites } = inline.marks;
      for (const cite of link === null ? cites : [link, ...cites]) {
        const span = open.get(cite);
        if (span === undefined) {
          const fresh = { cite, start, end: text.length, isLink: cite === link };
          open.set(cite, fresh);
          marks.push(fresh);
        } else span.end = text.length;
      }
    }
  }
  return { text, marks };
}

function trimSpan(text: string, { start, end }: Span): { start: number; end: number } {
  const selected = text.slice(start, end);
  const core = selected.trim();
  const from = start + selected.indexOf(core);
  return { start: from, end: from + core.length };
}
