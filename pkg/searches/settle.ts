import { judge, type CaptureResult } from '../capture/index.ts';
import type { ChildError, Envelope, JobWarning, Mention, Region } from '../contract/index.ts';
import { query, type Database } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';
import { requeueCapture, type Claim } from './claim.ts';
import { endCaptures } from './end.ts';
import type { Findings } from './envelope.ts';

/** A capture is attempted at most so often, lost leases included (design, "Postgres is the truth"). */
export const MAX_ATTEMPTS = 3;

export type StoredProof = { key: string; contentType: string; sha256: string; size: number; served: boolean };

export type Settlement = {
  claim: Claim;
  result: CaptureResult;
  /** Proof whose bytes are in the artifact store already: a URL must never lead nowhere. */
  proofs: readonly StoredProof[];
  mentions: { items: Mention[] } | null;
  warnings: readonly JobWarning[];
};

export type SettleDeps = { db: Database; clock: Clock; retryBackoffSeconds: number; queueSeconds: number };

export type Settled = { ended: Envelope } | { retried: true } | { lost: true };

/**
 * Writes how a capture ended, or puts it back for another attempt when the outcome may go better. Changes nothing and
 * says `lost` when the claim's fence is no longer the newest.
 */
export async function settleCapture(deps: SettleDeps, settlement: Settlement): Promise<Settled> {
  const { claim, result } = settlement;
  const rule = judge(claim.surface, result.outcome);
  if (rule.retryable && claim.attempts < MAX_ATTEMPTS) {
    const afterSeconds = deps.retryBackoffSeconds * 2 ** (claim.attempts - 1);
    const { captureId, fence } = claim;
    const retried = await deps.db.inTransaction((sql) =>
      requeueCapture(sql, { captureId, fence, afterSeconds, queueSeconds: deps.queueSeconds }),
    );
    return retried ? { retried: true } : { lost: true };
  }
  return deps.db.inTransaction(async (sql) => {
    const error: ChildError | null = rule.code === null ? null : { code: rule.code, error: explain(result) };
    const [ended] = await endCaptures(sql, deps.clock, claim.searchId, [
      {
        captureId: claim.captureId,
        fence: claim.fence,
        state: rule.state,
        outcome: result.outcome,
        billed: rule.billed,
        error,
        findings: describeFindings(settlement, rule.state === 'completed'),
      },
    ]);
    if (ended === undefined) return { lost: true };
    for (const proof of settlement.proofs) {
      await query(
        sql,
        `INSERT INTO artifacts (key, account_id, capture_id, content_type, sha256, size, served)
         VALUES (:key, :accountId, :captureId, :contentType, :sha256, :size, :served)`,
        { ...proof, accountId: claim.accountId, captureId: claim.captureId },
      );
    }
    return { ended };
  });
}

export function explain(result: CaptureResult): string {
  return 'detail' in result ? result.detail : 'The capture did not give an answer.';
}

export function describeFindings(
  { result, mentions, warnings }: Pick<Settlement, 'result' | 'mentions' | 'warnings'>,
  completed: boolean,
): Findings | null {
  if (result.outcome === 'completed' || result.outcome === 'partial') {
    const { answer, evidence, model, webSearch, effectiveRegion } = result;
    return {
      surfacePresent: true,
      answer,
      evidence: { ...evidence, mentions, shopping: null, ads: null },
      model,
      webSearch,
      effectiveRegion,
      warnings: [...warnings],
    };
  }
  if (!completed) return null;
  return absence(result.outcome === 'absent' ? result.effectiveRegion : null, mentions, warnings);
}

/** A surface that has nothing is a result too, and says so (spec 1). */
function absence(
  effectiveRegion: Partial<Region> | null,
  mentions: Findings['evidence']['mentions'],
  warnings: readonly JobWarning[],
): Findings {
  return {
    surfacePresent: false,
    answer: { text: '', markdown: '', blocks: [] },
    evidence: { sources: [], fanOut: { provenance: 'none', queries: [] }, mentions, shopping: null, ads: null },
    model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
    webSearch: null,
    effectiveRegion,
    warnings: ['surface_absent', ...warnings],
  };
}
