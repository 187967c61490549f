/** States of one capture (spec 3.1). `queued` and `running` are the only ones that change. */
export const CAPTURE_STATES = ['queued', 'running', 'completed', 'partial', 'failed', 'canceled', 'expired'] as const;
export type CaptureState = (typeof CAPTURE_STATES)[number];

export const TERMINAL_STATES = ['completed', 'partial', 'failed', 'canceled', 'expired'] as const;
export type TerminalState = (typeof TERMINAL_STATES)[number];

/** States of a parent job, as `GET /v1/jobs?state=` filters them. */
export const JOB_STATES = ['queued', 'processing', ...TERMINAL_STATES] as const;
export type JobState = (typeof JOB_STATES)[number];

export function isTerminal(state: CaptureState | JobState): state is TerminalState {
  return TERMINAL_STATES.some((terminal) => terminal === state);
}

/** How a search was submitted; the `method` of a usage group. */
export const SEARCH_METHODS = ['sync', 'async', 'batch', 'watch', 'mcp'] as const;
export type SearchMethod = (typeof SEARCH_METHODS)[number];
