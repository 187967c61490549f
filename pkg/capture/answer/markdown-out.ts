import type { BlockContent, ListItem, Root, TableCell } from 'mdast';
import { gfmToMarkdown } from 'mdast-util-gfm';
import { toMarkdown } from 'mdast-util-to-markdown';
import { toPhrasing } from './markdown-phrasing.ts';
import type { Block, Inline, Item, Table } from './tree.ts';

/**
 * The tree as GitHub-flavoured markdown. It reads back as the same text, so chips, which are no text, are not in it:
 * what they cite is told by the sources.
 */
export function writeMarkdown(blocks: readonly Block[]): string {
  const root: Root = { type: 'root', children: toBlocks(blocks) };
  return toMarkdown(root, {
    extensions: [gfmToMarkdown({ tablePipeAlign: false })],
    bullet: '-',
    fences: true,
    listItemIndent: 'one',
    // `<https://…>` is not understood everywhere.
    resourceLink: true,
    rule: '-',
  }).trimEnd();
}

function toBlocks(blocks: readonly Block[]): BlockContent[] {
  return blocks.flatMap((block) => toBlock(block));
}

function toBlock(block: Block): BlockContent[] {
  switch (block.kind) {
    case 'paragraph': {
      const children = toPhrasing(block.inlines);
      return children.length === 0 ? [] : [{ type: 'paragraph', children }];
    }
    case 'heading':
      return [{ type: 'heading', depth: block.depth, children: toPhrasing(block.inlines) }];
    case 'code':
      return [{ type: 'code', lang: block.language, value: block.value }];
    case 'quote': {
      const children = toBlocks(block.blocks);
      return children.length === 0 ? [] : [{ type: 'blockquote', children }];
    }
    case 'list':
      return toList(block.start, block.items);
    case 'table':
      return toTable(block);
    case 'rule':
      return [{ type: 'thematicBreak' }];
  }
}

function toList(start: number | null, items: readonly Item[]): BlockContent[] {
  const children = items.flatMap(({ checked, blocks }): ListItem[] => {
    const content = toBlocks(blocks);
    if (content.length === 0) return [];
    const [, ...rest] = content;
    return [{ type: 'listItem', checked, spread: rest.some((block) => block.type !== 'list'), children: content }];
  });
  if (children.length === 0) return [];
  const spread = children.some((item) => item.spread === true);
  return [{ type: 'list', ordered: start !== null, start, spread, children }];
}

/** Markdown knows no table without a head; where a page shows none, it is empty. */
function toTable({ rows, alignments, hasHead }: Table): BlockContent[] {
  const written = rows.map((row) => row.map(toCell));
  const isFilled = (cells: TableCell[]): boolean => cells.some((cell) => cell.children.length > 0);
  const [first = [], ...rest] = hasHead ? written : [alignments.map(() => toCell([])), ...written];
  const body = rest.filter(isFilled);
  if (body.length === 0 && !isFilled(first)) return [];
  const children = [first, ...body].map((cells) => ({ type: 'tableRow' as const, children: cells }));
  return [{ type: 'table', align: alignments, children }];
}

function toCell(cell: readonly Inline[]): TableCell {
  return { type: 'tableCell', children: toPhrasing(cell.map(plainPipe)) };
}

/** In the code of a table cell `\|` can't be written. */
function plainPipe(inline: Inline): Inline {
  const unwritable = inline.kind === 'text' && inline.marks.code && /\\+(?:\||$)/.test(inline.text);
  return unwritable ? { ...inline, marks: { ...inline.marks, code: false } } : inline;
}
