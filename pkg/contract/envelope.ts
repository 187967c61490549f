import type { ErrorCode } from './errors.ts';
import type { Region } from './regions.ts';
import type { CaptureState } from './states.ts';
import type { Surface } from './surfaces.ts';

/** Half-open range in UTF-16 code units of `answer.text`. */
export type CharRange = { start: number; end: number };

export const BLOCK_TYPES = ['paragraph', 'heading', 'list', 'code', 'quote'] as const;
export type BlockType = (typeof BLOCK_TYPES)[number];

export type AnswerBlock = { type: BlockType; text: string; referenceIds: number[] };

/** `text`, `markdown` and `blocks` are three readings of one tree; an absent surface has `''`, `''`, `[]`. */
export type Answer = { text: string; markdown: string; blocks: AnswerBlock[] };

export const SOURCE_ROLES = ['citation', 'reference', 'result', 'related'] as const;
export type SourceRole = (typeof SOURCE_ROLES)[number];

export type Source = {
  /** From 1, in order of first appearance; stable within one envelope. */
  id: number;
  url: string;
  title: string;
  role: SourceRole;
  /** True when the answer's own text links or marks it, false when it is only listed beside the answer. */
  cited: boolean;
  charRanges: CharRange[];
};

export type FanOut = { provenance: 'observed' | 'none'; queries: string[] };

export type Sentiment = 'positive' | 'neutral' | 'negative';

export type Mention = {
  brand: string;
  domain: string | null;
  mentioned: boolean;
  position: number | null;
  sentiment: Sentiment | null;
  linked: boolean;
  target: string | null;
  sourceIds: number[];
  snippet: string | null;
};

export type Evidence = {
  sources: Source[];
  fanOut: FanOut;
  mentions: { items: Mention[] } | null;
  shopping: null;
  ads: null;
};

export const JOB_WARNINGS = ['surface_absent', 'extraction_failed', 'extraction_skipped'] as const;
export type JobWarning = (typeof JOB_WARNINGS)[number];

export type ObservedModel = {
  providerId: string | null;
  observedLabel: string | null;
  inferred: boolean;
  confidence: number | null;
};

export type Provenance = {
  model: ObservedModel;
  webSearch: boolean | null;
  surfacePresent: boolean;
  region: { requested: Region | null; effective: Partial<Region> | null };
  schemaVersion: string;
};

export type ChildError = { code: ErrorCode; error: string };

export type EnvelopeJob = {
  id: string;
  status: CaptureState;
  warnings: JobWarning[];
  parentId: string;
  surface: Surface;
  query: string;
  createdAt: string;
  startedAt: string | null;
  completedAt: string | null;
  attempts: number;
  error?: ChildError;
};

export type ChildCredits = { creditsToCharge: number; creditsCharged: number };

/** The terminal result of one child (spec 2.5). */
export type Envelope = {
  job: EnvelopeJob;
  provenance: Provenance;
  answer: Answer;
  evidence: Evidence;
  /** Absolute URL of the proof page, only when it was asked for and exists. */
  html?: string;
  credits: ChildCredits;
};

/** `view=flat` (spec 2.5). */
export type FlatResult = {
  jobId: string;
  surface: Surface;
  status: CaptureState;
  text: string;
  markdown: string;
  sources: Source[];
  error?: ChildError;
};

export function flatten(envelope: Envelope): FlatResult {
  const { job, answer, evidence } = envelope;
  return {
    jobId: job.id,
    surface: job.surface,
    status: job.status,
    text: answer.text,
    markdown: answer.markdown,
    sources: evidence.sources,
    ...(job.error === undefined ? {} : { error: job.error }),
  };
}
