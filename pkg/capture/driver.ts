import type { CaptureResult, CaptureTask } from './outcome.ts';

/** One way to get an answer: a browser, a model endpoint, a JSON search API. */
export type Driver = {
  /**
   * Captures once and never throws for what the surface did: that is an outcome. Ends by `task.timeoutMs` plus five
   * seconds at the latest, whatever the page does. An aborted `signal` ends it as `canceled`.
   */
  capture(task: CaptureTask, signal: AbortSignal): Promise<CaptureResult>;
  /** Gives every process, page and file back. */
  close(): Promise<void>;
};
