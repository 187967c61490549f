import type { CaptureResult } from '../../pkg/capture/index.ts';
import type { Database } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { acceptSearches, type Accepted, type Acceptor, type NewSearch } from '../../pkg/searches/index.ts';

const WIDE = { queued: 1_000, syncInFlight: 100 };

/** A search as validation would leave it, with what a test cares about. */
export function newSearch(changes: Partial<NewSearch> = {}): NewSearch {
  return {
    query: 'which bicycle is best?',
    surfaces: ['assistant_one'],
    regions: [],
    extract: null,
    wantsHtml: false,
    webhook: null,
    idempotency: null,
    method: 'async',
    queueSeconds: () => 900,
    ...changes,
  };
}

export function acceptorOf(accountId: string, ceilings = WIDE): Acceptor {
  return { accountId, metered: true, ceilings };
}

/** Accepts one search at five credits a child, or throws why not. */
export async function accept(db: Database, accountId: string, changes: Partial<NewSearch> = {}): Promise<Accepted> {
  const { verdicts } = await acceptSearches({ db, clock: systemClock, priceOf: () => 5 }, acceptorOf(accountId), [
    newSearch(changes),
  ]);
  const [verdict] = verdicts;
  if (verdict === undefined) throw new Error('no verdict');
  if ('rejected' in verdict) throw verdict.rejected;
  return verdict.accepted;
}

/** What a driver reports of a page whose answer is this text. */
export function captured(text: string): CaptureResult {
  return {
    outcome: 'completed',
    answer: { text, markdown: text, blocks: [{ type: 'paragraph', text, referenceIds: [] }] },
    evidence: { sources: [], fanOut: { provenance: 'none', queries: [] } },
    model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
    webSearch: null,
    effectiveRegion: null,
    proofHtml: null,
    signals: [],
  };
}
