import type { Answer, Source } from '../../contract/index.ts';
import { createTreeBuilder } from './builder.ts';
import { createCiteFinder, type ListedSource } from './cites.ts';
import { readHtmlTree } from './html.ts';
import type { LinkRules } from './links.ts';
import type { Annotation } from './markdown-annotations.ts';
import { readMarkdownTree } from './markdown-in.ts';
import { writeMarkdown } from './markdown-out.ts';
import { createSourceList } from './sources.ts';
import { linkBlocks, writeText } from './text.ts';
import { PLAIN, type Block, type Cite } from './tree.ts';

export type Reading = { answer: Answer; sources: Source[] };

/** A citation of a model API; the offsets count UTF-16 code units of the markdown, end exclusive. */
export type UrlAnnotation = { url: string; title: string; startIndex: number; endIndex: number };

/** One entry of a result page; what the page does not show is empty or left out. */
export type ResultEntry = {
  url: string;
  title?: string | undefined;
  snippet?: string | undefined;
  date?: string | undefined;
};

/** The answer of an absent surface (spec 2.5). */
export function emptyAnswer(): Answer {
  return { text: '', markdown: '', blocks: [] };
}

/**
 * Reads the outer HTML of an answer (spec 2.5). Never throws, whatever the HTML is.
 *
 * Citations are marked by the in-page reader: `data-scs-cite="<role>"`, its target in `data-scs-url`, or named in
 * `listed` by `data-scs-ref`, or the element's own link; `data-scs-title`; and `data-scs-chip` when its text is only a
 * marker. A chip is no text; it stands for the sentence before it. Every other link to an http(s) URL is a citation of
 * exactly its text, unless it leads to a place in the same page. `listed` holds the sources beside the answer.
 */
export function readHtml(options: {
  html: string;
  baseUrl: string;
  listed: readonly ListedSource[];
  links?: LinkRules | undefined;
}): Reading {
  const cites = createCiteFinder(options);
  return toReading(readHtmlTree(options.html, cites), cites.listed);
}

/**
 * Reads the markdown answer of a model API. Annotations cover the text that their offsets select; one whose offsets
 * select nothing counts as listed beside the answer. Never throws.
 */
export function readMarkdown(options: {
  markdown: string;
  annotations: readonly UrlAnnotation[];
  links?: LinkRules | undefined;
}): Reading {
  const cites = createCiteFinder({ baseUrl: null, listed: [], links: options.links });
  const annotations = options.annotations.flatMap(({ url, title, startIndex, endIndex }): Annotation[] => {
    const cite = cites.ofUrl(url, title, 'citation');
    return cite === null ? [] : [{ cite, start: startIndex, end: endIndex }];
  });
  const tree = readMarkdownTree(options.markdown, annotations, cites);
  return toReading(
    tree,
    annotations.map(({ cite }) => cite),
  );
}

/**
 * A page of results as one ordered list: title, snippet and date of each on lines of their own, the title linked.
 * `summary` is text that the page shows above the list.
 */
export function readResults(options: {
  results: readonly ResultEntry[];
  baseUrl: string;
  links?: LinkRules | undefined;
  summary?: string | undefined;
}): Reading {
  const cites = createCiteFinder({ baseUrl: options.baseUrl, listed: [], links: options.links });
  const builder = createTreeBuilder();
  builder.flow(() => builder.text(options.summary ?? '', PLAIN));
  builder.list(1, () => {
    for (const { url, title, snippet, date } of options.results) {
      const cite = cites.ofUrl(url, title ?? '', 'result');
      builder.item(() => {
        builder.text(title?.trim() ? title : (cite?.url ?? url), { ...PLAIN, link: cite });
        for (const line of [snippet, date]) {
          if (line === undefined || line.trim() === '') continue;
          builder.breakLine();
          builder.text(line, PLAIN);
        }
      });
    }
  });
  return toReading(builder.finish(), []);
}

/** The one place where text, ranges, blocks and markdown are made, all from the same tree. */
function toReading(tree: readonly Block[], listed: readonly Cite[]): Reading {
  const list = createSourceList(listed);
  const written = writeText(tree, list);
  const sources = list.finish();
  return {
    answer: { text: written.text, markdown: writeMarkdown(tree), blocks: linkBlocks(written.blocks, sources) },
    sources,
  };
}
