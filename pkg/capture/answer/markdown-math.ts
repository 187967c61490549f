/**
 * Code first: a formula in it is code. Then the ways in which models write formulas. None holds the beginning of
 * another, so that a text full of beginnings is read in linear time.
 */
const CODE_OR_FORMULA =
  /^ {0,3}(`{3,}|~{3,})[^]*?(?:^ {0,3}\1|(?![^]))|(?<!`)(`+)(?!`)[^]*?(?<!`)\2(?!`)|\$\$(?<dollars>(?:[^$\n]|\n(?!\s*\n))+)\$\$|(?<!\\)\\\[(?<display>(?:[^\n\\]|\\[^[\]]|\n(?!\s*\n))+)\\\]|(?<!\\)\\\((?<inline>(?:[^\n\\]|\\[^()\n])+)\\\)|(?<![\\$\w])\$(?=\S)(?<dollar>(?:[^$\n\\]|\\.)+?)(?<=\S)\$(?![\w$])/gm;

/** Prices stand between dollars too. */
const LOOKS_LIKE_TEX = /[\\^_=<>{]|^\p{L}$/u;

const PRIVATE_USE = /[\ue000-\uf8ff]/;
const FILLER = '\ue000';
const FIRST_NAME = 0xe100;
const MAX_FORMULAS = 0xf8ff - FIRST_NAME;
const PLACEHOLDER = /[\ue100-\uf8ff]\ue000*/g;

export type Formulas = {
  /** The source with a placeholder of the same length in place of each formula, so that every offset stays. */
  source: string;
  /** Formulas in place of their placeholders, as TeX without its delimiters. */
  toTex(text: string): string;
  /** The same as it was written, for what turned out to be code or a URL. */
  toSource(text: string): string;
};

/**
 * Takes the formulas out of the way of the markdown parser, which would take their backslashes for escapes and their
 * stars and underscores for emphasis. Does nothing where they are not `wanted`.
 */
export function setFormulasAside(source: string, wanted: boolean): Formulas {
  const found: { tex: string; written: string }[] = [];
  const same = (text: string): string => text;
  // Placeholders could not be told from what is there already.
  if (!wanted || PRIVATE_USE.test(source)) return { source, toTex: same, toSource: same };
  const replaced = source.replace(CODE_OR_FORMULA, (written: string, ...rest: unknown[]) => {
    const tex = readTex(rest.at(-1));
    if (tex === null || found.length >= MAX_FORMULAS) return written;
    found.push({ tex, written });
    return String.fromCharCode(FIRST_NAME + found.length - 1) + FILLER.repeat(written.length - 1);
  });
  const put = (text: string, part: 'tex' | 'written'): string =>
    text
      .replace(PLACEHOLDER, (placeholder) => found[placeholder.charCodeAt(0) - FIRST_NAME]?.[part] ?? '')
      .replaceAll(FILLER, '');
  return {
    source: replaced,
    toTex: (text) => (found.length === 0 ? text : put(text, 'tex')),
    toSource: (text) => (found.length === 0 ? text : put(text, 'written')),
  };
}

/** Null for code, and for what only looks like a formula. */
function readTex(groups: unknown): string | null {
  if (typeof groups !== 'object' || groups === null) return null;
  const written = Object.values(groups).find((value) => typeof value === 'string');
  if (typeof written !== 'string') return null;
  const tex = written.trim();
  return LOOKS_LIKE_TEX.test(tex) ? tex : null;
}
