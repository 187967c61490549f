import type { Content, DemoBlock, DemoSource, Sentence } from './content.ts';
import { escapeHtml } from './html.ts';

/** HTML to append to the block with this number, which is made with this tag when it is not there yet. */
export type Piece = { block: number; tag: string; html: string };

/** How a surface shows that a sentence rests on a source; `number` counts from 1. */
export type Mark = (source: DemoSource, number: number) => string;

const WORDS_PER_PIECE = 4;

/** The answer as a stream would send it: a few words at a time, marks and rows whole. */
export function cutPieces(content: Content, mark: Mark): Piece[] {
  return content.blocks.flatMap((block, index) =>
    cutBlock(block, index, (sentence) => markUp(content, sentence, mark)),
  );
}

/** The blocks that these pieces make, each as HTML. */
export function renderBlocks(pieces: readonly Piece[]): string[] {
  const blocks = Map.groupBy(pieces, ({ block }) => block);
  return [...blocks.values()].map((parts) => {
    const tag = parts[0]?.tag ?? 'p';
    return `<${tag}>${parts.map(({ html }) => html).join('')}</${tag}>`;
  });
}

/** The pieces in at most `ticks` groups of about the same size. */
export function groupInTicks<T>(pieces: readonly T[], ticks: number): T[][] {
  const size = Math.max(1, Math.ceil(pieces.length / ticks));
  const groups: T[][] = [];
  for (let start = 0; start < pieces.length; start += size) groups.push(pieces.slice(start, start + size));
  return groups;
}

function cutBlock(block: DemoBlock, index: number, markOf: (sentence: Sentence) => string): Piece[] {
  const piece = (tag: string, html: string): Piece => ({ block: index, tag, html });
  switch (block.kind) {
    case 'heading':
      return [piece('h3', escapeHtml(block.text))];
    case 'paragraph':
      return block.sentences.flatMap((sentence, position) => [
        ...cutWords(`${position === 0 ? '' : ' '}${sentence.text}`).map((words) => piece('p', escapeHtml(words))),
        ...(markOf(sentence) === '' ? [] : [piece('p', markOf(sentence))]),
      ]);
    case 'list':
      return block.sentences.map((sentence) => piece('ul', `<li>${escapeHtml(sentence.text)}${markOf(sentence)}</li>`));
    case 'table':
      return [piece('table', renderRows(block.rows))];
    case 'code':
      return [piece('pre', `<code class="language-${block.language}">${escapeHtml(block.text)}</code>`)];
  }
}

function markUp(content: Content, { source }: Sentence, mark: Mark): string {
  const found = source === null ? undefined : content.sources[source];
  return found === undefined || source === null ? '' : mark(found, source + 1);
}

/** Every piece keeps the space before its words, so that the pieces joined are the text again. */
function cutWords(text: string): string[] {
  return groupInTicks(text.match(/\s*\S+/g) ?? [], Math.ceil(text.split(/\s+/).length / WORDS_PER_PIECE)).map((words) =>
    words.join(''),
  );
}

function renderRows([head = [], ...rows]: string[][]): string {
  const cells = (row: string[], tag: string): string =>
    `<tr>${row.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
  return `<thead>${cells(head, 'th')}</thead><tbody>${rows.map((row) => cells(row, 'td')).join('')}</tbody>`;
}
