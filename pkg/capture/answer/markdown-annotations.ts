import type { Cite } from './tree.ts';

/** A citation that covers `start` to `end` of the markdown source, in UTF-16 code units, end exclusive. */
export type Annotation = { cite: Cite; start: number; end: number };

/** A piece that is a marker is no text. */
export type Piece = { text: string; cites: Cite[]; isMarker: boolean };

/**
 * `([site](https://…))`: links and nothing else, as model APIs write them behind what they support, and annotate them.
 * A page would show a chip there.
 */
const MARKER = /^\s*\(?(?:\[[^\]]*\]\((?:[^\s()]|\([^\s()]*\))*\)[,;]?\s*)+\)?\s*$/;

type Position = { start: { offset?: number | undefined }; end: { offset?: number | undefined } };

export type Annotator = ReturnType<typeof createAnnotator>;

/** Cuts text nodes where annotations begin and end; with `markers`, those that cover links only are marks, no text. */
export function createAnnotator(source: string, annotations: readonly Annotation[], markers: boolean) {
  const usable = annotations
    .map(({ cite, start, end }) => ({ cite, start: Math.max(0, start), end: Math.min(source.length, end) }))
    .filter(({ start, end }) => Number.isInteger(start) && Number.isInteger(end) && start < end)
    .map((annotation) => ({
      ...annotation,
      isMarker: markers && MARKER.test(source.slice(annotation.start, annotation.end)),
    }));
  const taken = new Set<Cite>();

  function findMarkers(position: Position | undefined): Cite[] {
    const from = position?.start.offset;
    const to = position?.end.offset;
    if (from === undefined || to === undefined) return [];
    return usable.filter(({ start, end, isMarker }) => isMarker && start <= from && end >= to).map(({ cite }) => cite);
  }

  return {
    /** Whether a link is (part of) a mark. */
    isMarker: (position: Position | undefined): boolean => findMarkers(position).length > 0,
    /** What the mark at a link cites, each but once: one annotation may cover several links. */
    takeMarkers(position: Position | undefined): Cite[] {
      const fresh = findMarkers(position).filter((cite) => !taken.has(cite));
      for (const cite of fresh) taken.add(cite);
      return fresh;
    },
    split(value: string, position: Position | undefined): Piece[] {
      const from = position?.start.offset;
      const to = position?.end.offset;
      const own =
        from === undefined || to === undefined ? [] : usable.filter(({ start, end }) => start < to && end > from);
      if (own.length === 0 || from === undefined) return [{ text: value, cites: [], isMarker: false }];
      const offsets = alignOffsets(source.slice(from, to), value);
      const toValue = (at: number): number => snap(value, at <= from ? 0 : (offsets[at - from] ?? value.length));
      const covers = own.map(({ start, end, ...rest }) => ({ ...rest, start: toValue(start), end: toValue(end) }));
      return cut(value, covers);
    },
  };
}

function cut(value: string, covers: readonly (Annotation & { isMarker: boolean })[]): Piece[] {
  const points = new Set([0, value.length, ...covers.flatMap(({ start, end }) => [start, end])]);
  const sorted = [...points].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((start, index) => {
    const end = sorted[index + 1] ?? value.length;
    const over = covers.filter((cover) => cover.start <= start && cover.end >= end);
    const cites = over.map(({ cite }) => cite);
    return { text: value.slice(start, end), cites, isMarker: over.some(({ isMarker }) => isMarker) };
  });
}

/** Not between the halves of a surrogate pair. */
function snap(value: string, at: number): number {
  const inPair = /[\uDC00-\uDFFF]/.test(value.charAt(at)) && /[\uD800-\uDBFF]/.test(value.charAt(at - 1));
  return inPair ? at - 1 : at;
}

const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/iy;

/**
 * For every place in the source of a text node, the place in its value: escapes, entities, back-ticks and the
 * markers of quotes and lists at line starts are in the source only.
 */
function alignOffsets(source: string, value: string): number[] {
  const offsets: number[] = [];
  let at = 0;
  for (let index = 0; index < source.length;) {
    ENTITY.lastIndex = index;
    const entity = source[index] === '&' ? ENTITY.exec(source)?.[0] : undefined;
    if (entity !== undefined && !value.startsWith(entity, at)) {
      for (let step = 0; step < entity.length; step += 1) offsets.push(at);
      at += (value.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
      index += entity.length;
      continue;
    }
    offsets.push(at);
    if (source[index] === value[at]) at += 1;
    index += 1;
  }
  return offsets;
}
