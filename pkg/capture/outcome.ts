import {
  isAssistant,
  type Answer,
  type ErrorCode,
  type Evidence,
  type ObservedModel,
  type Region,
  type Surface,
  type TerminalState,
} from '../contract/index.ts';

/** What a driver is asked to do. Everything it may know about the search is here. */
export type CaptureTask = {
  captureId: string;
  surface: Surface;
  query: string;
  region: Region | null;
  /** Keep the proof page of this capture. */
  wantsProof: boolean;
  /** From the start of the capture to its end, closing the page included. */
  timeoutMs: number;
};

/** Which part of the readiness rule became true, and when after the question was sent. For people and metrics. */
export type ReadinessSignal = { name: string; atMs: number };

export type CapturedPage = {
  answer: Answer;
  evidence: Pick<Evidence, 'sources' | 'fanOut'>;
  model: ObservedModel;
  webSearch: boolean | null;
  /** Only what was really applied, never an echo of the request. Null when nothing was. */
  effectiveRegion: Partial<Region> | null;
  /** Self-contained, script-free HTML of the page in the moment the text was read. */
  proofHtml: string | null;
  /** PNG of the page as it was read, where the lane wants one beside the proof. */
  proofPng?: Uint8Array;
  signals: ReadinessSignal[];
};

/**
 * Every capture ends as exactly one of these.
 * `completed` the answer finished · `partial` text stood there at the deadline, unfinished · `absent` the surface has
 * nothing for this query · `empty` finished without text · `blocked` the surface refused us · `timeout` no text by the
 * deadline · `crashed` browser or driver broke · `unusable` the surface answered something that is no answer page ·
 * `canceled` we were told to stop.
 */
export type CaptureResult =
  | ({ outcome: 'completed' | 'partial' } & CapturedPage)
  | {
      outcome: 'absent';
      effectiveRegion: Partial<Region> | null;
      proofHtml: string | null;
      signals?: ReadinessSignal[];
    }
  | {
      outcome: 'empty' | 'blocked' | 'timeout' | 'crashed' | 'unusable' | 'canceled';
      /** One plain sentence: what was seen, for the job's error and the operator. */
      detail: string;
      /** PNG of a blocked or unusable page, for the operator only; never served to a tenant. */
      screenshot?: Uint8Array;
      signals?: ReadinessSignal[];
    };

export type Outcome = CaptureResult['outcome'];

/** What an outcome means for state, error code, billing and retry. */
export type OutcomeRule = {
  state: TerminalState;
  code: ErrorCode | null;
  billed: boolean;
  /** Another attempt may go better: the fault was on the way, not in the answer. */
  retryable: boolean;
};

/** The exclusive table of outcomes. Nothing else decides how a capture ends. */
const RULES: Record<Outcome, OutcomeRule> = {
  completed: { state: 'completed', code: null, billed: true, retryable: false },
  partial: { state: 'partial', code: null, billed: false, retryable: false },
  absent: { state: 'completed', code: null, billed: false, retryable: false },
  empty: { state: 'failed', code: 'EMPTY_ANSWER', billed: false, retryable: false },
  // A page that refuses us is never asked again at once: that is how a lane gets refused for good.
  blocked: { state: 'failed', code: 'ACQUISITION_FAILED', billed: false, retryable: false },
  // The deadline is spent: another attempt would hold the slot for as long again.
  timeout: { state: 'failed', code: 'SURFACE_TIMEOUT', billed: false, retryable: false },
  crashed: { state: 'failed', code: 'ACQUISITION_FAILED', billed: false, retryable: true },
  unusable: { state: 'failed', code: 'UPSTREAM_BAD_GATEWAY', billed: false, retryable: true },
  canceled: { state: 'canceled', code: 'REQUEST_CANCELED', billed: false, retryable: false },
};

/** An engine that finishes with nothing is an absence, not an error (spec 3.1); only assistants owe text. */
export function judge(surface: Surface, outcome: Outcome): OutcomeRule {
  return outcome === 'empty' && !isAssistant(surface) ? RULES.absent : RULES[outcome];
}
