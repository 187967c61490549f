import { createHash } from 'node:crypto';
import type { ArtifactStore } from '../artifacts/index.ts';
import { extractMentions, judge, type CaptureResult, type CaptureTask, type Driver } from '../capture/index.ts';
import type { JobWarning, Mention, Surface } from '../contract/index.ts';
import type { Database } from '../postgres/index.ts';
import type { Announcement } from '../queue/index.ts';
import { pause, type Clock } from '../runtime/index.ts';
import {
  claimCapture,
  MAX_ATTEMPTS,
  renewLease,
  requeueCapture,
  settleCapture,
  type Claim,
  type StoredProof,
} from '../searches/index.ts';
import type { CaptureMetrics, Logger } from '../telemetry/index.ts';
import { askLeave, giveLeaveBack, isPictureDue, noteAnswer, noteRefusal, postponeCapture } from './refusals.ts';

export type RunnerDeps = {
  db: Database;
  driver: Driver;
  artifacts: ArtifactStore;
  clock: Clock;
  log: Logger;
  metrics: CaptureMetrics;
};

export type RunnerOptions = {
  surface: Surface;
  captureSeconds: number;
  queueSeconds: number;
  leaseSeconds: number;
  retryBackoffSeconds: number;
};

export type Runner = {
  /** Claims, captures and settles what was announced. Returns when it has ended or was not there to be taken. */
  take(announcement: Announcement): Promise<void>;
  /** Looks whether captures of this search are still ours, and aborts those that are not. */
  onCanceled(searchId: string): void;
  running(): number;
  /** Gives what runs `graceMs` to end, then aborts it and puts it back into the queue for another lane. */
  drain(graceMs: number): Promise<void>;
};

/** What a capture may take beyond its deadline. */
const TRIAL_SPARE_SECONDS = 10;
const MOST_PICTURE_BYTES = 2_000_000;

/** The life of one capture in a lane: claim, keep the lease, capture, store the proof, settle. */
export function createRunner(deps: RunnerDeps, options: RunnerOptions): Runner {
  const running = new Map<Claim, AbortController>();
  let draining = false;

  /** Not while the surface refuses us: asked again and again, it would refuse us for good. */
  async function claimUnlessRefused(announcement: Announcement): Promise<Claim | null> {
    const waitSeconds = await askLeave(deps.db.system, options.surface, options.captureSeconds + TRIAL_SPARE_SECONDS);
    if (waitSeconds > 0) {
      await postponeCapture(deps.db.system, announcement, waitSeconds);
      return null;
    }
    const claim = await claimCapture(deps.db, announcement, options.leaseSeconds);
    if (claim === null) await giveLeaveBack(deps.db.system, options.surface);
    return claim;
  }

  async function take(announcement: Announcement): Promise<void> {
    const claim = await claimUnlessRefused(announcement);
    if (claim === null) return;
    const lost = new AbortController();
    running.set(claim, lost);
    deps.metrics.busy.set(running.size);
    const startedMs = deps.clock.nowMs();
    const renewing = keepLease(deps, options, claim, lost);
    try {
      const result = await deps.driver.capture(describeTask(claim, options), lost.signal);
      if (lost.signal.aborted) {
        // What is no longer ours is settled by whoever moved the fence; what we gave up goes back.
        if (draining) await handBack(deps, options, claim);
        return;
      }
      await settle(deps, options, claim, result);
      deps.metrics.ended.inc({ surface: claim.surface, outcome: result.outcome });
      deps.metrics.seconds.observe({ surface: claim.surface }, (deps.clock.nowMs() - startedMs) / 1000);
    } finally {
      running.delete(claim);
      deps.metrics.busy.set(running.size);
      lost.abort();
      await renewing;
    }
  }

  return {
    take,
    running: () => running.size,
    drain: async (graceMs) => {
      const untilMs = deps.clock.nowMs() + graceMs;
      while (running.size > 0 && deps.clock.nowMs() < untilMs) await pause(50);
      draining = true;
      for (const lost of running.values()) lost.abort();
    },
    onCanceled: (searchId) => {
      for (const [claim, lost] of running) {
        if (claim.searchId !== searchId) continue;
        renewLease(deps.db, claim, options.leaseSeconds).then(
          (ours) => {
            if (!ours) lost.abort();
          },
          (error: unknown) =>
            deps.log.warn({ err: error, captureId: claim.captureId }, 'Could not look after a cancel'),
        );
      }
    },
  };
}

function describeTask(claim: Claim, options: RunnerOptions): CaptureTask {
  return {
    captureId: claim.captureId,
    surface: claim.surface,
    query: claim.query,
    region: claim.region,
    wantsProof: claim.wantsHtml,
    timeoutMs: options.captureSeconds * 1000,
  };
}

/**
 * Renews three times within each lease. A renewal that changes no row says that the capture is not ours any more; one
 * that fails is tried again, until so much time has passed that the lease must be taken as lost.
 */
async function keepLease(deps: RunnerDeps, options: RunnerOptions, claim: Claim, lost: AbortController): Promise<void> {
  let renewedMs = deps.clock.nowMs();
  for (;;) {
    await pause((options.leaseSeconds * 1000) / 3, lost.signal);
    if (lost.signal.aborted) return;
    try {
      const ours = await renewLease(deps.db, claim, options.leaseSeconds);
      if (!ours) lost.abort();
      renewedMs = deps.clock.nowMs();
    } catch (error) {
      deps.log.warn({ err: error, captureId: claim.captureId }, 'Could not renew the lease');
      if (deps.clock.nowMs() - renewedMs > options.leaseSeconds * 1000) lost.abort();
    }
  }
}

async function settle(deps: RunnerDeps, options: RunnerOptions, claim: Claim, result: CaptureResult): Promise<void> {
  const { mentions, warnings } = readMentions(deps, claim, result);
  await noteHealth(deps, claim, result);
  const proofs = await storeProofs(deps, claim, result);
  const settled = await settleWithPatience(deps, options, { claim, result, proofs, mentions, warnings });
  const detail = 'detail' in result ? result.detail : undefined;
  deps.log.info(
    {
      captureId: claim.captureId,
      attempt: claim.attempts,
      outcome: result.outcome,
      detail,
      signals: result.signals,
      settled: Object.keys(settled)[0],
    },
    'Captured',
  );
}

/** Refusals are counted for all pods of the lane; whatever else the surface answers ends them. */
async function noteHealth(deps: RunnerDeps, { surface, captureId }: Claim, result: CaptureResult): Promise<void> {
  try {
    if (result.outcome === 'blocked') {
      const inRow = await noteRefusal(deps.db.system, { surface, captureId, detail: result.detail.slice(0, 500) });
      deps.log.warn({ surface, inRow, detail: result.detail }, 'The surface refuses us');
    } else if (ANSWERS.has(result.outcome)) await noteAnswer(deps.db.system, surface);
  } catch (error) {
    // The capture is worth more than the count.
    deps.log.error({ err: error, surface }, 'Could not count refusals');
  }
}

const ANSWERS: ReadonlySet<CaptureResult['outcome']> = new Set(['completed', 'partial', 'absent', 'empty']);

/**
 * A finished capture is worth keeping through a restart of the database: settling is tried again for as long as the
 * lease may still be ours. After that the rescue has it anyway.
 */
async function settleWithPatience(
  deps: RunnerDeps,
  options: RunnerOptions,
  settlement: Parameters<typeof settleCapture>[1],
): ReturnType<typeof settleCapture> {
  const settleDeps = { ...deps, retryBackoffSeconds: options.retryBackoffSeconds, queueSeconds: options.queueSeconds };
  const untilMs = deps.clock.nowMs() + options.leaseSeconds * 1000;
  for (;;) {
    try {
      return await settleCapture(settleDeps, settlement);
    } catch (error) {
      if (deps.clock.nowMs() > untilMs) throw error;
      deps.log.warn({ err: error, captureId: settlement.claim.captureId }, 'Could not settle yet');
      await pause(500);
    }
  }
}

/** A stopping lane returns its capture at once; were that to fail, the end of the lease does the same later. */
async function handBack(deps: RunnerDeps, options: RunnerOptions, { captureId, fence }: Claim): Promise<void> {
  await deps.db.inTransaction((sql) =>
    requeueCapture(sql, { captureId, fence, afterSeconds: 0, queueSeconds: options.queueSeconds }),
  );
}

/** Mentions are an extra: when finding them fails, the capture stands, and says so (spec 2.5). */
function readMentions(
  deps: RunnerDeps,
  claim: Claim,
  result: CaptureResult,
): { mentions: { items: Mention[] } | null; warnings: JobWarning[] } {
  if (claim.extract === null) return { mentions: null, warnings: [] };
  const present = result.outcome === 'completed' || result.outcome === 'partial';
  try {
    const text = present ? result.answer.text : '';
    const sources = present ? result.evidence.sources : [];
    const items = extractMentions({ text, sources, extract: claim.extract });
    return { mentions: { items }, warnings: present ? [] : ['extraction_skipped'] };
  } catch (error) {
    deps.log.error({ err: error, captureId: claim.captureId }, 'Extraction failed');
    return { mentions: null, warnings: ['extraction_failed'] };
  }
}

/** A surface that fails for everyone would otherwise fill the store with pictures of the same page. */
async function isWorthKeeping(
  deps: RunnerDeps,
  { surface, attempts }: Claim,
  outcome: CaptureResult['outcome'],
  picture: Uint8Array,
): Promise<boolean> {
  const isTriedAgain = judge(surface, outcome).retryable && attempts < MAX_ATTEMPTS;
  if (isTriedAgain || picture.byteLength > MOST_PICTURE_BYTES) return false;
  try {
    return await isPictureDue(deps.db.system, surface);
  } catch (error) {
    deps.log.error({ err: error, surface }, 'Could not look whether a picture is due');
    return false;
  }
}

/** The bytes first, the row with the end of the capture: an URL never leads to nothing. */
async function storeProofs(deps: RunnerDeps, claim: Claim, result: CaptureResult): Promise<StoredProof[]> {
  const pages: { name: string; contentType: string; bytes: Uint8Array; served: boolean }[] = [];
  if ('proofHtml' in result && result.proofHtml !== null) {
    pages.push({ name: 'proof.html', contentType: 'text/html', bytes: Buffer.from(result.proofHtml), served: true });
  }
  if ('screenshot' in result && (await isWorthKeeping(deps, claim, result.outcome, result.screenshot))) {
    pages.push({ name: 'blocked.png', contentType: 'image/png', bytes: result.screenshot, served: false });
  }
  const stored: StoredProof[] = [];
  for (const { name, contentType, bytes, served } of pages) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    try {
      await deps.artifacts.put(sha256, bytes);
      // The attempt is part of the key, so that a rescued capture's second proof is not the first one's.
      const key = `captures/${claim.captureId}/${claim.attempts}/${name}`;
      stored.push({ key, contentType, sha256, size: bytes.byteLength, served });
    } catch (error) {
      deps.log.error({ err: error, captureId: claim.captureId }, 'Could not store the proof');
    }
  }
  return stored;
}
