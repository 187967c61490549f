import type { Content, DemoBlock, Sentence } from './content.ts';

/** Where the text cites a URL; the offsets count UTF-16 code units of the markdown, end exclusive. */
export type UrlCitation = {
  type: 'url_citation';
  url_citation: { url: string; title: string; start_index: number; end_index: number };
};

export type MarkdownAnswer = { text: string; citations: UrlCitation[] };

/** The content as a model with web search writes it: markdown, with the sites linked in parentheses. */
export function writeMarkdown(content: Content, toLink: (url: string) => string): MarkdownAnswer {
  const citations: UrlCitation[] = [];
  let text = '';
  const writeSentence = ({ text: words, source }: Sentence): void => {
    text += escapeMarkdown(words);
    const found = source === null ? undefined : content.sources[source];
    if (found === undefined) return;
    text += ' ';
    const start_index = text.length;
    const url = toLink(found.url);
    text += `([${found.site}](${url}))`;
    citations.push({
      type: 'url_citation',
      url_citation: { url, title: found.title, start_index, end_index: text.length },
    });
  };
  for (const block of content.blocks) {
    if (text !== '') text += '\n\n';
    if ('sentences' in block) {
      for (const [index, sentence] of block.sentences.entries()) {
        if (block.kind === 'list') text += `${index === 0 ? '' : '\n'}- `;
        else if (index > 0) text += ' ';
        writeSentence(sentence);
      }
    } else text += writePlain(block);
  }
  return { text, citations };
}

function writePlain(block: Exclude<DemoBlock, { sentences: Sentence[] }>): string {
  switch (block.kind) {
    case 'heading':
      return `## ${block.text}`;
    case 'code':
      return `\`\`\`${block.language}\n${block.text}\n\`\`\``;
    case 'table': {
      const [head = [], ...rows] = block.rows.map((row) => `| ${row.join(' | ')} |`);
      return [head, `|${' --- |'.repeat(block.rows[0]?.length ?? 0)}`, ...rows].join('\n');
    }
  }
}

/** A topic may hold characters that markdown would take for its own. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>#|~$&]/g, '\\$&');
}
