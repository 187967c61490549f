import type { Envelope, Mention, Source, SourceRole } from '../../contract/index.ts';
import { compareRankings, type Ranked, type RankedChange } from './ranked.ts';
import { measureSimilarity } from './similarity.ts';

type ComparedSource = { url: string; title: string; role: SourceRole };
type ComparedMention = { brand: string; domain: string | null; target: string | null };

export type CaptureChange = {
  /** False where the surface showed nothing. */
  surfacePresent: { before: boolean; after: boolean };
  text: { changed: boolean; similarity: number };
  sources: RankedChange<ComparedSource>;
  /** Null unless both captures looked for mentions. */
  mentions: RankedChange<ComparedMention> | null;
};

/** The structural difference between two completed captures of the same surface and region. */
export function compareCaptures(before: Envelope, after: Envelope): CaptureChange {
  const [old, now] = [before.evidence.mentions, after.evidence.mentions];
  return {
    surfacePresent: { before: before.provenance.surfacePresent, after: after.provenance.surfacePresent },
    text: {
      changed: before.answer.text !== after.answer.text,
      similarity: measureSimilarity(before.answer.text, after.answer.text),
    },
    sources: compareRankings(rankSources(before.evidence.sources), rankSources(after.evidence.sources)),
    mentions: old === null || now === null ? null : compareRankings(rankMentions(old.items), rankMentions(now.items)),
  };
}

/** A source is its address; where in the page it points to does not make it another one. */
function rankSources(sources: readonly Source[]): Ranked<ComparedSource>[] {
  return sources.map(({ url, title, role }) => ({ key: url.replace(/#.*$/s, ''), item: { url, title, role } }));
}

/** Of those mentioned, in the order in which the answer comes to them. A pinned target is found again by its words. */
function rankMentions(mentions: readonly Mention[]): Ranked<ComparedMention>[] {
  return mentions
    .filter(({ mentioned }) => mentioned)
    .toSorted((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity))
    .map(({ brand, domain, target }) => ({
      key: target === null ? `brand ${brand.toLowerCase()}` : `target ${target.toLowerCase()}`,
      item: { brand, domain, target },
    }));
}
