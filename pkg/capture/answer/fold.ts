import { PLAIN, sameMarks, type Inline, type Marks, type Run } from './tree.ts';

/** What a browser shows as one space, whatever its length. No-break spaces are shown as they are. */
const FOLDED = /[\t\n\v\f\r \u2028\u2029]+/g;
const WORD_START = /^[\p{L}\p{N}]/u;
const WORD_END = /[\p{L}\p{N}\p{M}]$/u;
/** Scripts written without spaces: a marker taken out of them leaves no gap behind. */
const UNSPACED_START = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const UNSPACED_END = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}。、！？：；」）]$/u;
const OPENING_END = /[\s([{<«“‘„"'/\p{Pd}]$/u;
const CLOSING_START = /^[.,;:!?…)\]}»”。、！？：；，]/u;

/** Without NUL, other invisible control characters and lone surrogates, which stores and JSON readers refuse. */
export function cleanText(text: string): string {
  return text.replace(/[\0-\x08\x0e-\x1f\x7f]|\p{Surrogate}/gu, '');
}

/**
 * Also without what no one sees and what would keep words from being found: soft hyphens, zero-width spaces, byte order
 * marks. Joiners stay, because emoji and scripts are written with them.
 */
export function visibleText(text: string): string {
  return cleanText(text).replace(/[\u00ad\u200b\u2060\ufeff]/g, '');
}

/** One line of plain words, as titles are. */
export function cleanLine(text: string): string {
  return visibleText(text).replace(FOLDED, ' ').trim();
}

type Gap = 'none' | 'space' | 'break' | 'paragraph';

/**
 * Folds white space as a browser shows it, across the borders of links and emphasis. Runs with the same marks are
 * joined. Two line breaks in a row end a paragraph, so the answer is a list of paragraphs; one that holds no text but
 * chips is kept, because its citations count.
 */
export function foldInlines(inlines: readonly Inline[]): Inline[][] {
  const paragraphs: Inline[][] = [];
  let line = createLine();
  for (const inline of inlines) {
    if (inline.kind !== 'text') {
      line.add(inline);
      continue;
    }
    const text = visibleText(inline.text).replace(FOLDED, ' ');
    if (text.startsWith(' ')) line.space(inline.marks);
    const core = text.replace(/^ | $/g, '');
    if (core === '') continue;
    if (line.endsParagraph()) {
      paragraphs.push(line.finish());
      line = createLine();
    }
    line.write(core, inline.marks);
    if (text.endsWith(' ')) line.space(inline.marks);
  }
  paragraphs.push(line.finish());
  return paragraphs.filter((paragraph) => paragraph.length > 0);
}

function createLine() {
  const out: Inline[] = [];
  let last: Run | null = null;
  let gap: Gap = 'none';
  let spaceMarks = PLAIN;
  let sawChip = false;
  let sawGap = false;
  let sawBorder = false;

  function append(text: string, marks: Marks): void {
    if (last !== null && out.at(-1) === last && sameMarks(last.marks, marks)) {
      last.text += text;
      return;
    }
    last = { kind: 'text', text, marks };
    out.push(last);
  }

  function bridge(previous: Run, text: string, marks: Marks): void {
    if (gap === 'break') out.push({ kind: 'break' });
    else if (gap === 'space' && !(sawChip && CLOSING_START.test(text))) append(' ', spaceMarks);
    else if (gap === 'none' && isGlued(previous, text, marks)) append(' ', PLAIN);
  }

  function isGlued(previous: Run, text: string, marks: Marks): boolean {
    if (!WORD_START.test(text)) return false;
    const end = previous.text.slice(-2);
    if (sawChip) return !OPENING_END.test(end) && !UNSPACED_END.test(end) && !UNSPACED_START.test(text);
    const betweenLinks =
      sawBorder && previous.marks.link !== null && marks.link !== null && previous.marks.link.url !== marks.link.url;
    return (sawGap || betweenLinks) && WORD_END.test(end);
  }

  return {
    add(inline: Exclude<Inline, Run>): void {
      if (inline.kind === 'gap' && inline.between === 'links') sawBorder = true;
      else if (inline.kind === 'gap') sawGap = true;
      else if (inline.kind === 'break') gap = gap === 'break' || gap === 'paragraph' ? 'paragraph' : 'break';
      else {
        out.push(inline);
        sawChip = sawChip || inline.supports;
      }
    },
    space(marks: Marks): void {
      if (gap !== 'none') return;
      gap = 'space';
      spaceMarks = marks;
    },
    endsParagraph: (): boolean => last !== null && gap === 'paragraph',
    write(text: string, marks: Marks): void {
      if (last !== null) bridge(last, text, marks);
      append(text, marks);
      gap = 'none';
      sawChip = false;
      sawGap = false;
      sawBorder = false;
    },
    finish: (): Inline[] => trimEdges(out),
  };
}

/** No-break spaces are not folded, but at the edges of a paragraph they are only padding, and so is a break there. */
function trimEdges(inlines: Inline[]): Inline[] {
  const fromStart = trimStart(inlines, (text) => text.trimStart());
  return trimStart(fromStart.reverse(), (text) => text.trimEnd()).reverse();
}

function trimStart(inlines: readonly Inline[], trim: (text: string) => string): Inline[] {
  let atEdge = true;
  return inlines.flatMap((inline): Inline[] => {
    if (!atEdge || inline.kind === 'chip') return [inline];
    if (inline.kind !== 'text') return [];
    const text = trim(inline.text);
    atEdge = text === '';
    return atEdge ? [] : [{ ...inline, text }];
  });
}
