import type { CharRange, Mention, Source } from '../../contract/index.ts';
import { readSources, sourcesOf, type KnownSource } from './evidence.ts';
import { isWithin, readHost, squeeze, toAscii } from './hosts.ts';
import { findHost, findLabel, findName } from './occurrences.ts';
import { cutSnippet } from './snippet.ts';
import { createWordBounds, type WordBounds } from './words.ts';

export type MentionInput = {
  text: string;
  sources: readonly Source[];
  /** With targets these and no other are looked for; without, the brands that the sources give evidence of. */
  extract: { targets: readonly string[] };
};

type Found = { brand: string; domain: string | null; target: string | null; ranges: CharRange[] };
type Page = { text: string; known: KnownSource[]; isWhole: WordBounds };

/**
 * What an answer says about brands (spec 2.5). Pinned targets are all reported, in their order, present or not. Without
 * targets a brand is reported only if it stands in the text and a source's domain or title bears the same name: so
 * nothing is made up, and a brand that no source belongs to is left out.
 *
 * `position` ranks the reported brands by first appearance; names that begin at the same place share a rank. `linked`
 * says that the answer cites the brand's own site. `sourceIds` are that site's sources and those that back a passage
 * with the name in it. `snippet` stands in the text as it is. `sentiment` is always null: words alone do not tell it
 * reliably, and a wrong one is worse than none.
 */
export function extractMentions({ text, sources, extract }: MentionInput): Mention[] {
  const page: Page = { text, known: readSources(sources), isWhole: createWordBounds(text) };
  const pinned = extract.targets.map((target) => findTarget(target, page));
  const found = pinned.length > 0 ? pinned : findEvidencedBrands(page);
  const starts = [...new Set(found.flatMap(({ ranges }) => ranges.slice(0, 1).map(({ start }) => start)))].sort(
    (a, b) => a - b,
  );
  return found.map((one) => describe(one, starts, sources, page));
}

function findTarget(target: string, page: Page): Found {
  const host = readHost(target);
  return host === null ? findBrand(target, page) : findDomain(target, page);
}

function findBrand(target: string, { text, known, isWhole }: Page): Found {
  const name = squeeze(target);
  const identity =
    name === '' ? undefined : known.flatMap(({ identities }) => identities).find((one) => one.name === name);
  return { brand: target, domain: identity?.domain ?? null, target, ranges: findName(text, target, isWhole) };
}

/** A pinned domain is mentioned by its own spelling, or by its owner's name where that is written as a name. */
function findDomain(target: string, { text, known, isWhole }: Page): Found {
  const written = readHost(target);
  if (written === null) throw new Error(`not a domain: ${target}`);
  const domain = toAscii(written.hostname);
  const trusted = known.some(({ source, host }) => source.cited && isWithin(host.hostname, domain));
  const byHost = findHost(text, [written.hostname, domain]);
  const byLabel = findLabel(text, written.label, { isWhole, trusted });
  return { brand: target, domain, target, ranges: merge([byHost, byLabel]) };
}

function findEvidencedBrands({ text, known, isWhole }: Page): Found[] {
  const byDomain = new Map<string, Found>();
  for (const { source, identities } of known) {
    for (const { name, domain, spelling } of identities) {
      const before = byDomain.get(domain);
      const ranges = merge([
        before?.ranges ?? findHost(text, [domain]),
        before === undefined ? findLabel(text, name, { isWhole, trusted: source.cited }) : [],
        spelling === null ? [] : findName(text, spelling, isWhole),
      ]);
      const [first] = ranges;
      if (first !== undefined)
        byDomain.set(domain, { brand: text.slice(first.start, first.end), domain, target: null, ranges });
    }
  }
  return [...byDomain.values()].sort((a, b) => (a.ranges[0]?.start ?? 0) - (b.ranges[0]?.start ?? 0));
}

/** In order, and of those that overlap the longest. */
function merge(lists: readonly CharRange[][]): CharRange[] {
  const sorted = lists.flat().sort((a, b) => a.start - b.start || b.end - a.end);
  const kept: CharRange[] = [];
  for (const range of sorted) {
    const last = kept.at(-1);
    if (last === undefined || range.start >= last.end) kept.push(range);
  }
  return kept;
}

function describe(
  { brand, domain, target, ranges }: Found,
  starts: readonly number[],
  sources: readonly Source[],
  page: Page,
): Mention {
  const [first] = ranges;
  const own = domain === null ? [] : sourcesOf(page.known, domain);
  const backing = sources.filter(({ charRanges }) =>
    charRanges.some((cited) => ranges.some((range) => overlap(cited, range))),
  );
  const ids = new Set([...own, ...backing].map(({ id }) => id));
  return {
    brand,
    domain,
    mentioned: first !== undefined,
    position: first === undefined ? null : starts.indexOf(first.start) + 1,
    sentiment: null,
    linked: own.some(({ cited }) => cited),
    target,
    sourceIds: [...ids].sort((a, b) => a - b),
    snippet: first === undefined ? null : cutSnippet(page.text, first),
  };
}

function overlap(a: CharRange, b: CharRange): boolean {
  return a.start < b.end && b.start < a.end;
}
