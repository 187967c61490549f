import type { Page, Request } from 'playwright-core';
import { pause } from '../../../runtime/index.ts';
import { globToRegExp } from '../../profile/glob.ts';

export type Streams = {
  isPending(): boolean;
  /** Returns when none is pending, or after `timeoutMs`. */
  waitForEnd(timeoutMs: number): Promise<void>;
};

/** Follows the requests that carry the answer, so that a pause in the text is not taken for its end. */
export function followStreams(page: Page, globs: readonly string[]): Streams {
  const patterns = globs.map(globToRegExp);
  const pending = new Set<Request>();
  let ended = new AbortController();
  if (patterns.length > 0) {
    page.on('request', (request) => {
      if (patterns.some((pattern) => pattern.test(request.url()))) pending.add(request);
    });
    const forget = (request: Request): void => {
      if (!pending.delete(request) || pending.size > 0) return;
      ended.abort();
      ended = new AbortController();
    };
    page.on('requestfinished', forget);
    page.on('requestfailed', forget);
  }
  return {
    isPending: () => pending.size > 0,
    waitForEnd: async (timeoutMs) => {
      if (pending.size > 0) await pause(timeoutMs, ended.signal);
    },
  };
}
