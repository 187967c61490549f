import type { Link, LinkReference, Nodes, Parents, Root, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { toString } from 'mdast-util-to-string';
import { gfm } from 'micromark-extension-gfm';
import { createTreeBuilder, type TreeBuilder } from './builder.ts';
import type { CiteFinder } from './cites.ts';
import { readHtmlInto } from './html.ts';
import { setFormulasAside, type Formulas } from './markdown-math.ts';
import { createAnnotator, type Annotation, type Annotator } from './markdown-annotations.ts';
import { isMarkerText, writeMarked, type Marking } from './markers.ts';
import { collectDefinitions, type Definitions } from './markdown-definitions.ts';
import { isTangled } from './markdown-tangled.ts';
import { headingDepth, PLAIN, type Block, type Inline, type Marks } from './tree.ts';

/** A model's answer is far smaller; what is longer is not read. In UTF-16 code units. */
const MAX_MARKDOWN_LENGTH = 500_000;

/** The walk is recursive; below this depth (only nonsense gets there) nothing is read. */
const MAX_DEPTH = 400;

/** Reads GitHub-flavoured markdown into the answer tree. HTML in it is read as HTML. */
export function readMarkdownTree(
  markdown: string,
  annotations: readonly Annotation[],
  cites: CiteFinder,
  { markers, formulas: readsFormulas }: { markers: boolean; formulas: boolean },
): Block[] {
  const formulas = setFormulasAside(markdown.slice(0, MAX_MARKDOWN_LENGTH), readsFormulas);
  const { source } = formulas;
  const builder = createTreeBuilder();
  const annotator = createAnnotator(source, annotations, markers);
  const root = parse(source);
  if (root === null) {
    readPlain(formulas, builder, annotator);
    return builder.finish();
  }
  walkAll(root, PLAIN, {
    builder,
    cites,
    markers,
    formulas,
    annotator,
    definitions: collectDefinitions(root),
    depth: 0,
  });
  return builder.finish();
}

/** Null for what is markdown in name only. */
function parse(source: string): Root | null {
  if (isTangled(source)) return null;
  try {
    // One tilde means "about" in prose far more often than it strikes words out.
    return fromMarkdown(source, {
      extensions: [gfm({ singleTilde: false })],
      mdastExtensions: [readAsWritten()],
    });
  } catch (error) {
    // The parser's stack overflowed all the same.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Paragraphs of the source as it stands. */
function readPlain({ source, toSource }: Formulas, builder: TreeBuilder, annotator: Annotator): void {
  for (const { 0: text, index } of source.matchAll(/\S(?:[^\n]|\n(?!\s*\n))*/g)) {
    const position = { start: { offset: index }, end: { offset: index + text.length } };
    builder.flow(() => {
      for (const piece of annotator.split(text, position))
        builder.text(toSource(piece.text), { ...PLAIN, cites: piece.cites });
    });
  }
}

type Walk = Marking & {
  annotator: Annotator;
  definitions: Definitions;
  formulas: Formulas;
  depth: number;
};

const HIDING_TAG = /^<(script|style|template|noscript|textarea|iframe|svg)\b/i;

function walkAll(parent: Parents, marks: Marks, outer: Walk): void {
  if (outer.depth >= MAX_DEPTH) return;
  const walk = { ...outer, depth: outer.depth + 1 };
  let hiddenUntil: string | null = null;
  for (const node of parent.children) {
    if (node.type === 'html' && hiddenUntil !== null) {
      if (node.value.toLowerCase().startsWith(hiddenUntil)) hiddenUntil = null;
    } else if (hiddenUntil === null) {
      // In a paragraph every tag is a node of its own, so what stands between two tags has to be skipped here.
      const hiding = node.type === 'html' && parent.type !== 'root' ? HIDING_TAG.exec(node.value)?.[1] : undefined;
      if (hiding === undefined) walkNode(node, marks, walk);
      else hiddenUntil = `</${hiding.toLowerCase()}`;
    }
  }
}

function walkNode(node: RootContent, marks: Marks, walk: Walk): void {
  const { builder } = walk;
  switch (node.type) {
    case 'paragraph': {
      builder.flow(() => walkAll(node, marks, walk));
      return;
    }
    case 'heading': {
      builder.heading(headingDepth(node.depth), () => walkAll(node, marks, walk));
      return;
    }
    case 'blockquote': {
      builder.quote(() => walkAll(node, marks, walk));
      return;
    }
    case 'list': {
      builder.list(node.ordered === true ? (node.start ?? 1) : null, () => walkAll(node, marks, walk));
      return;
    }
    case 'listItem': {
      builder.item(() => walkAll(node, marks, walk), node.checked ?? null);
      return;
    }
    case 'code': {
      builder.code(node.lang ?? null, walk.formulas.toSource(node.value));
      return;
    }
    case 'thematicBreak': {
      builder.rule();
      return;
    }
    case 'table': {
      builder.table({
        rows: node.children.map((row) => row.children.map((cell) => readCell(cell, marks, walk))),
        alignments: node.align ?? [],
        hasHead: true,
      });
      return;
    }
    case 'html': {
      readHtmlInto(builder, walk.formulas.toTex(node.value), walk.cites);
      return;
    }
    default: {
      walkInline(node, marks, walk);
      return;
    }
  }
}

function readCell(cell: Parents, marks: Marks, walk: Walk): Inline[] {
  return walk.builder.cell(() => walkAll(cell, marks, walk));
}

function walkInline(node: RootContent, marks: Marks, walk: Walk): void {
  const { builder } = walk;
  switch (node.type) {
    case 'text': {
      writeAnnotated(node, node.value, marks, walk);
      return;
    }
    case 'inlineCode': {
      writeAnnotated(node, node.value, { ...marks, code: true }, walk);
      return;
    }
    case 'break': {
      builder.breakLine();
      return;
    }
    case 'strong': {
      walkAll(node, { ...marks, strong: true }, walk);
      return;
    }
    case 'emphasis': {
      walkAll(node, { ...marks, emphasis: true }, walk);
      return;
    }
    case 'delete': {
      walkAll(node, { ...marks, strike: true }, walk);
      return;
    }
    case 'link': {
      readLink(node, node.url, marks, walk);
      return;
    }
    case 'linkReference': {
      readLink(node, walk.definitions.urls.get(node.identifier), marks, walk);
      return;
    }
    case 'image':
    case 'imageReference': {
      readImage(walk.formulas.toTex(node.alt ?? ''), marks, walk);
      return;
    }
    case 'footnoteReference': {
      const note = walk.definitions.footnotes.get(node.identifier);
      const cite = walk.cites.ofUrl(note?.url, note?.title ?? '', 'citation');
      if (cite !== null) builder.chip(cite, true);
      return;
    }
    case 'footnoteDefinition':
      // A note that names a source is that source; any other note is text.
      if (walk.definitions.footnotes.has(node.identifier)) return;
      {
        builder.flow(() => walkAll(node, marks, walk));
        return;
      }
    default:
      return;
  }
}

function readLink(node: Link | LinkReference, url: string | undefined, marks: Marks, walk: Walk): void {
  const { builder, annotator, markers } = walk;
  if (annotator.isMarker(node.position)) {
    for (const cite of annotator.takeMarkers(node.position)) builder.chip(cite, true);
    return;
  }
  const target = url === undefined ? undefined : walk.formulas.toSource(url);
  const cite = marks.link === null ? walk.cites.ofUrl(target, '', 'citation') : null;
  if (cite !== null && markers && isMarkerText(toString(node), cite.url)) {
    builder.chip(cite, true);
    return;
  }
  const before = builder.words();
  builder.gap('links');
  walkAll(node, cite === null ? marks : { ...marks, link: cite }, walk);
  if (cite !== null && builder.words() === before) builder.chip(cite, false);
}

function readImage(alt: string, marks: Marks, { builder }: Walk): void {
  builder.gap('words');
  if (alt.trim() === '') return;
  builder.text(alt, marks);
  builder.gap('words');
}

function writeAnnotated(node: Nodes, value: string, marks: Marks, walk: Walk): void {
  for (const { text, cites, isMarker } of walk.annotator.split(value, node.position)) {
    if (isMarker) continue;
    const written = marks.code ? walk.formulas.toSource(text) : walk.formulas.toTex(text);
    writeMarked(written, cites.length === 0 ? marks : { ...marks, cites }, walk);
  }
}

/** Only what the parser took for an address is one: the library would look again, and find those that are escaped. */
export function readAsWritten(): ReturnType<typeof gfmFromMarkdown> {
  return gfmFromMarkdown().map((extension) => ({ ...extension, transforms: [] }));
}
