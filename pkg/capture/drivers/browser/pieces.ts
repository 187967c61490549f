import type { Page, Request } from 'playwright-core';
import { pause, type Clock } from '../../../runtime/index.ts';

export type Pieces = {
  isPending(): boolean;
  /** Returns when none is pending any more, or after a while: some scripts are an open line, not a piece. */
  waitForEnd(timeoutMs: number): Promise<void>;
};

const LONGEST_LOAD_MS = 3_000;
/** React shows what was waiting for a script up to half a second after it came. */
const SHOWN_WITHIN_MS = 700;

/**
 * Follows the scripts that a page loads once it was asked. Many pages load the part that shows a code block or a table
 * when the first one comes, and show nothing in its place until then.
 */
export function followPieces(page: Page, clock: Clock, hasAsked: () => boolean): Pieces {
  const pending = new Map<Request, number>();
  let shownByMs = 0;
  page.on('request', (request) => {
    if (request.resourceType() === 'script' && hasAsked()) pending.set(request, clock.nowMs());
  });
  const forget = (request: Request): void => {
    if (pending.delete(request)) shownByMs = clock.nowMs() + SHOWN_WITHIN_MS;
  };
  page.on('requestfinished', forget);
  page.on('requestfailed', forget);

  const untilMs = (): number => Math.max(shownByMs, ...[...pending.values()].map((atMs) => atMs + LONGEST_LOAD_MS));
  const isPending = (): boolean => untilMs() > clock.nowMs();
  return {
    isPending,
    waitForEnd: async (timeoutMs) => {
      const giveUpAtMs = clock.nowMs() + timeoutMs;
      while (isPending() && clock.nowMs() < giveUpAtMs) await pause(Math.min(50, giveUpAtMs - clock.nowMs()));
    },
  };
}
