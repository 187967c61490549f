/** Fewer markers than this in one line are parsed fast whatever they are. */
const MANY_MARKERS = 2_000;
const MAX_OPEN = 200;
const MAX_TICK_LENGTHS = 40;
const MAX_EMPHASES = 10_000;

/** Stars in a row, or quotes and lists inside each other, in numbers that only nonsense has. */
const HEAPED = /[*_]{500}|^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){200}/m;

/**
 * True for what is markdown in name only. The parser takes quadratic time, or all of its stack, for markers that
 * open and open and find no partner in their line; long lines of well-formed markdown are no trouble to it.
 */
export function isTangled(markdown: string): boolean {
  return HEAPED.test(markdown) || markdown.split('\n').some(isTangledLine);
}

function isTangledLine(line: string): boolean {
  const markers = line.match(/[[\]()]|`+|[*_]+/g) ?? [];
  if (markers.length < MANY_MARKERS) return false;
  const tickLengths = new Set(markers.filter((marker) => marker.startsWith('`')).map((marker) => marker.length));
  if (markers.filter((marker) => /[*_]/.test(marker)).length > MAX_EMPHASES) return true;
  return tickLengths.size > MAX_TICK_LENGTHS || mostOpen(line) > MAX_OPEN;
}

/** What opens, and what closes it. Stars inside a word may do either and don't count. */
const PAIRS = [
  /(?<open>\[)|(?<close>\])/g,
  /(?<open>\()|(?<close>\))/g,
  /(?<close>(?<=[^\s*_])[*_]+(?=[\s\p{P}]|$))|(?<open>(?<![^\s\p{P}])[*_]+(?=\S))/gu,
];

/** The most brackets, parentheses or emphases that are open at once. */
function mostOpen(line: string): number {
  let most = 0;
  for (const pair of PAIRS) {
    let open = 0;
    for (const { groups } of line.matchAll(pair)) {
      open = Math.max(0, open + (groups?.['close'] === undefined ? 1 : -1));
      most = Math.max(most, open);
    }
  }
  return most;
}
