import type { Answer, Source } from '../../contract/index.ts';
import { createTreeBuilder } from './builder.ts';
import { createCiteFinder, type ListedSource } from './cites.ts';
import { readHtmlTree } from './html.ts';
import type { LinkRules } from './links.ts';
import type { Annotation } from './markdown-annotations.ts';
import { readMarkdownTree } from './markdown-in.ts';
import { writeMarked } from './markers.ts';
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

/** What stands beside an answer that comes from an API. */
type Beside = {
  baseUrl?: string | undefined;
  /** Sources; `[1]` in the text refers to the one whose `ref` is `1`, if `markers` are read. */
  listed?: readonly ListedSource[];
  /** Numbers in brackets, and links whose text is only a number or the cited host, are marks and no text. */
  markers?: boolean;
  /** TeX between dollars or `\\(…\\)` stays as it is written, without these. */
  formulas?: boolean;
  links?: LinkRules | undefined;
};

/**
 * Reads the markdown answer of an API. Annotations cover the text that their offsets select; one whose offsets select
 * nothing counts as listed beside the answer. Never throws.
 */
export function readMarkdown(options: Beside & { markdown: string; annotations: readonly UrlAnnotation[] }): Reading {
  const { baseUrl = null, listed = [], links, markers = false, formulas = false } = options;
  const cites = createCiteFinder({ baseUrl, listed, links });
  const annotations = options.annotations.flatMap(({ url, title, startIndex, endIndex }): Annotation[] => {
    const cite = cites.ofUrl(url, title, 'citation');
    return cite === null ? [] : [{ cite, start: startIndex, end: endIndex }];
  });
  const tree = readMarkdownTree(options.markdown, annotations, cites, { markers, formulas });
  return toReading(tree, [...annotations.map(({ cite }) => cite), ...cites.listed]);
}

/** Reads an answer that is plain text: an empty line ends a paragraph, other line breaks stay. Never throws. */
export function readText(options: Beside & { text: string }): Reading {
  const { text, baseUrl = null, listed = [], links, markers = false } = options;
  const cites = createCiteFinder({ baseUrl, listed, links });
  const builder = createTreeBuilder();
  for (const paragraph of text.split(/\n[^\S\n]*\n/)) {
    builder.flow(() => {
      for (const [index, line] of paragraph.split('\n').entries()) {
        if (index > 0) builder.breakLine();
        writeMarked(line, PLAIN, { builder, cites, markers });
      }
    });
  }
  return toReading(builder.finish(), cites.listed);
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
