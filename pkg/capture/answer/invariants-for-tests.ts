import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString } from 'mdast-util-to-string';
import { gfm } from 'micromark-extension-gfm';
import { readAsWritten } from './markdown-in.ts';
import { readMarkdown, type Reading } from './index.ts';

/** What is wrong with a reading, whatever it is a reading of; empty when nothing is. */
export function findFaults({ answer, sources }: Reading): string[] {
  const { text, markdown, blocks } = answer;
  const faults: string[] = [];
  const demand = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  demand(text === blocks.map((block) => block.text).join('\n\n'), 'the text is not that of the blocks');
  demand(!/\p{Surrogate}/u.test(text + markdown), 'half a character');
  demand(!/[\u00ad\u200b\u2060\ufeff\0]/.test(text), 'characters that nobody sees');

  const back = readMarkdown({ markdown, annotations: [] }).answer;
  demand(back.text === text, 'the markdown reads back as another text');
  demand(back.blocks.length === blocks.length, 'the markdown reads back as other blocks');

  const tree = fromMarkdown(markdown, {
    extensions: [gfm({ singleTilde: false })],
    mdastExtensions: [readAsWritten()],
  });
  for (const node of walk(tree)) {
    demand(node.type !== 'html', 'HTML in the markdown');
    demand(node.type !== 'image' && !node.type.endsWith('Reference'), `a node of type ${node.type}`);
    if (node.type === 'link') {
      demand(/^(?:https?:\/\/|mailto:)/.test(node.url), `a link that is not absolute: ${node.url}`);
      demand(node.children.length > 0, `a link without text: ${node.url}`);
    }
    if ('children' in node) {
      const glued = node.children.some((child, index) => {
        const next = node.children[index + 1];
        if (child.type !== 'link' || next?.type !== 'link') return false;
        return /[\p{L}\p{N}]$/u.test(toString(child)) && /^[\p{L}\p{N}]/u.test(toString(next));
      });
      demand(!glued, 'words of two links in one');
    }
  }

  demand(
    sources.every(({ id }, index) => id === index + 1),
    'ids that do not count from 1',
  );
  for (const { url, charRanges } of sources) {
    demand(URL.canParse(url) && /^https?:/.test(url), `a source that is not absolute: ${url}`);
    for (const { start, end } of charRanges) {
      const selected = text.slice(start, end);
      demand(selected !== '' && selected === selected.trim(), `a range that is not trimmed: ${start}-${end}`);
      demand(!/^\p{Surrogate}|\p{Surrogate}$/u.test(selected), `a range that cuts a character: ${start}-${end}`);
    }
  }
  return faults;
}

function* walk(node: Nodes): Generator<Nodes> {
  yield node;
  if ('children' in node) for (const child of node.children) yield* walk(child);
}
