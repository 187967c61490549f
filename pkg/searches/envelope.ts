import {
  SCHEMA_VERSION,
  type Answer,
  type ChildError,
  type Envelope,
  type Evidence,
  type JobWarning,
  type ObservedModel,
  type Region,
  type Surface,
  type TerminalState,
} from '../contract/index.ts';

/** What a capture found. Absent for a child that ended without having been captured. */
export type Findings = {
  surfacePresent: boolean;
  answer: Answer;
  evidence: Evidence;
  model: ObservedModel;
  webSearch: boolean | null;
  effectiveRegion: Partial<Region> | null;
  warnings: JobWarning[];
};

export type EndedCapture = {
  id: string;
  searchId: string;
  surface: Surface;
  region: Region | null;
  query: string;
  state: TerminalState;
  attempts: number;
  price: number;
  creditsCharged: number;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date;
};

const NOTHING_FOUND: Findings = {
  surfacePresent: false,
  answer: { text: '', markdown: '', blocks: [] },
  evidence: { sources: [], fanOut: { provenance: 'none', queries: [] }, mentions: null, shopping: null, ads: null },
  model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
  webSearch: null,
  effectiveRegion: null,
  warnings: [],
};

/** The terminal result of one child (spec 2.5); built once, when it ends. */
export function buildEnvelope(ended: EndedCapture, findings: Findings | null, error: ChildError | null): Envelope {
  const { surfacePresent, answer, evidence, model, webSearch, effectiveRegion, warnings } = findings ?? NOTHING_FOUND;
  return {
    job: {
      id: ended.id,
      status: ended.state,
      warnings,
      parentId: ended.searchId,
      surface: ended.surface,
      query: ended.query,
      createdAt: ended.createdAt.toISOString(),
      startedAt: ended.startedAt?.toISOString() ?? null,
      completedAt: ended.endedAt.toISOString(),
      attempts: ended.attempts,
      ...(error === null ? {} : { error }),
    },
    provenance: {
      model,
      webSearch,
      surfacePresent,
      region: { requested: ended.region, effective: effectiveRegion },
      schemaVersion: SCHEMA_VERSION,
    },
    answer,
    evidence,
    credits: { creditsToCharge: ended.price, creditsCharged: ended.creditsCharged },
  };
}
