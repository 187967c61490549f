// What the page has in the place of a selector that finds nothing, for whoever writes the lane. Runs inside the page.

const MOST_NEARBY = 3;
const MOST_NODES = 5000;

/** @typedef {{selector: string, matches: number}} Nearby */

/** How far two words are apart, as a share of the longer one: 0 the same, 1 nothing in common.
 * @param {string} a @param {string} b */
function distance(a, b) {
  if (a === b) return 0;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same);
    }
    row = next;
  }
  return (row[b.length] ?? 0) / Math.max(a.length, b.length, 1);
}

/** The names that a compound asks for: its tag, ids, classes and attributes. @param {string} css @returns {string[]} */
function namesIn(css) {
  const bare = css.replace(/:[\w-]+(\([^)]*\))?/g, '');
  const names = bare.match(/[#.]?(?:[\w-]|\\.)+|\[[^\]]*\]/g) ?? [];
  return names.map((name) => name.replace(/^\[([\w-]+)([*^$~|]?=)?["']?(.*?)["']?\]$/, '[$1=$3]'));
}

/** The same, as a node has them. @param {Element} element @returns {string[]} */
function namesOf(element) {
  const names = [...element.classList].map((name) => `.${name}`);
  if (element.id !== '') names.push(`#${element.id}`);
  for (const { name, value } of element.attributes) {
    if (/^(data-|aria-label$|role$|name$|type$|placeholder$)/.test(name)) names.push(`[${name}=${value.slice(0, 60)}]`);
  }
  return [...names, element.localName];
}

/** @param {string} name as `namesOf` writes it */
function toSelector(name) {
  const attribute = /^\[([^=]+)=(.*)\]$/.exec(name);
  if (attribute)
    return attribute[2] === '' ? `[${attribute[1]}]` : `[${attribute[1]}="${CSS.escape(attribute[2] ?? '')}"]`;
  if (/^[#.]/.test(name)) return `${name.charAt(0)}${CSS.escape(name.slice(1))}`;
  return name;
}

/** @param {string} css @returns {Nearby[]} selectors of this page that look like it, the nearest first */
function findNearby(css) {
  const wanted = namesIn(css);
  /** @type {Map<string, number>} */
  const scores = new Map();
  let looked = 0;
  for (const root of [document, ...shadowRoots]) {
    for (const element of root.querySelectorAll('*')) {
      if ((looked += 1) > MOST_NODES) break;
      for (const name of namesOf(element)) {
        if (scores.has(name)) continue;
        const apart = wanted.map((other) => {
          const a = name.replace(/^[#.]|[[\]]/g, '').toLowerCase();
          const b = other.replace(/^[#.]|[[\]]/g, '').toLowerCase();
          const partly = b.length > 3 && (a.includes(b) || (a.length > 3 && b.includes(a))) ? 0.25 : 1;
          return Math.min(partly, distance(a.slice(0, 60), b.slice(0, 60)));
        });
        scores.set(name, Math.min(1, ...apart));
      }
    }
  }
  return [...scores]
    .filter(([, score]) => score < 0.5)
    .sort(([, a], [, b]) => a - b)
    .map(([name]) => ({ selector: toSelector(name), matches: findAll(toSelector(name)).length }))
    .filter(({ matches }) => matches > 0)
    .slice(0, MOST_NEARBY);
}

/**
 * How many nodes a selector finds and, where there are none, the longest beginning of it that finds some and what the
 * page has near the part that does not.
 * @param {string} selector
 * @returns {{matches: number, visible: number, first: string | null, holds: string | null, fails: string | null, nearby: Nearby[]}}
 */
function explainSelector(selector) {
  const found = findAll(selector);
  const [first] = found;
  const known = {
    matches: found.length,
    visible: found.filter(isVisible).length,
    first: first ? describe(first) : null,
  };
  if (first) return { ...known, holds: null, fails: null, nearby: [] };
  const [alternative = ''] = splitSelector(selector, /,/);
  const words = splitSelector(alternative.trim(), /\s/).filter((word) => word !== '');
  let length = words.length - 1;
  while (
    length > 0 &&
    (/^[>+~]$/.test(words[length - 1] ?? '') || findAll(words.slice(0, length).join(' ')).length === 0)
  )
    length -= 1;
  const fails = words.slice(length).filter((word) => !/^[>+~]$/.test(word));
  const nearby = findNearby(parseCompound(fails[0] ?? alternative).css);
  return { ...known, holds: length > 0 ? words.slice(0, length).join(' ') : null, fails: fails[0] ?? null, nearby };
}

/** @param {Element} element @returns {string} its tag with what names it, and the beginning of its text */
function describe(element) {
  const attributes = [...element.attributes]
    .filter(({ name }) => /^(id|class|role|aria-label|data-testid|name|type|href)$/.test(name))
    .map(({ name, value }) => ` ${name}="${value.slice(0, 60)}"`)
    .join('');
  const text = foldSpace(allText(element));
  return `<${element.localName}${attributes}>${text.slice(0, 60)}${text.length > 60 ? '…' : ''}`;
}
