import type { SourceRole } from '../../contract/index.ts';

/** One occurrence of a citation. The same object on neighbouring runs means one occurrence, so identity matters. */
export type Cite = { url: string; title: string; role: SourceRole };

export type Marks = {
  strong: boolean;
  emphasis: boolean;
  strike: boolean;
  code: boolean;
  link: Cite | null;
  /** Citations that cover this text without being a link in it, as model APIs annotate them. */
  cites: readonly Cite[];
};

export type Run = { kind: 'text'; text: string; marks: Marks };

export type Inline =
  | Run
  | { kind: 'break' }
  /**
   * Something stood here that is no text but keeps words apart, like an icon, or the border of a link, which keeps two
   * links apart: pages set them apart with margins that the markup does not show.
   */
  | { kind: 'gap'; between: 'words' | 'links' }
  /** A citation without text of its own. It supports the text before it, or (an empty link) only names its target. */
  | { kind: 'chip'; cite: Cite; supports: boolean };

export type Block =
  | { kind: 'paragraph'; inlines: Inline[] }
  | { kind: 'heading'; depth: HeadingDepth; inlines: Inline[] }
  | { kind: 'code'; language: string | null; value: string }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; start: number | null; items: Item[] }
  | ({ kind: 'table' } & Table)
  | { kind: 'rule' };

/** `checked` is null for an item without a box to tick. */
export type Item = { checked: boolean | null; blocks: Block[] };

export type Alignment = 'left' | 'center' | 'right' | null;

/** Every row has the same number of cells. `hasHead` tells whether the first row is the head. */
export type Table = { rows: Inline[][][]; alignments: Alignment[]; hasHead: boolean };

export type HeadingDepth = 1 | 2 | 3 | 4 | 5 | 6;

export const PLAIN: Marks = { strong: false, emphasis: false, strike: false, code: false, link: null, cites: [] };

export function sameMarks(a: Marks, b: Marks): boolean {
  return (
    sameStyle(a, b) && a.cites.length === b.cites.length && a.cites.every((cite, index) => cite === b.cites[index])
  );
}

/** Like `sameMarks` without the citations that markdown does not show. */
export function sameStyle(a: Marks, b: Marks): boolean {
  return (
    a.strong === b.strong &&
    a.emphasis === b.emphasis &&
    a.strike === b.strike &&
    a.code === b.code &&
    a.link === b.link
  );
}

export function headingDepth(level: number): HeadingDepth {
  if (level <= 1) return 1;
  if (level >= 6) return 6;
  if (level < 3) return 2;
  if (level < 4) return 3;
  return level < 5 ? 4 : 5;
}
