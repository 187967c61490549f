import type { Envelope, Mention, Source } from '../contract/index.ts';

/** A completed capture that found this. */
export function makeEnvelope(found: {
  text?: string;
  urls?: string[];
  brands?: string[] | null;
  present?: boolean;
}): Envelope {
  const { text = '', urls = [], brands = null, present = true } = found;
  const sources = urls.map((url, index): Source => ({
    id: index + 1,
    url,
    title: `About ${url}`,
    role: 'citation',
    cited: true,
    charRanges: [],
  }));
  const items = brands?.map((brand, index): Mention => ({
    brand,
    domain: null,
    mentioned: true,
    position: index + 1,
    sentiment: null,
    linked: false,
    target: null,
    sourceIds: [],
    snippet: null,
  }));
  return {
    job: {
      id: 'job_01j00000000000000000000000.engine_news.GLOBAL',
      status: 'completed',
      warnings: [],
      parentId: 'job_01j00000000000000000000000',
      surface: 'engine_news',
      query: 'bicycles',
      createdAt: '2026-07-01T09:00:00.000Z',
      startedAt: '2026-07-01T09:00:01.000Z',
      completedAt: '2026-07-01T09:00:02.000Z',
      attempts: 1,
    },
    provenance: {
      model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
      webSearch: null,
      surfacePresent: present,
      region: { requested: null, effective: null },
      schemaVersion: '2026-06-27',
    },
    answer: { text, markdown: text, blocks: [] },
    evidence: {
      sources,
      fanOut: { provenance: 'none', queries: [] },
      mentions: items === undefined ? null : { items },
      shopping: null,
      ads: null,
    },
    credits: { creditsToCharge: 3, creditsCharged: 3 },
  };
}
