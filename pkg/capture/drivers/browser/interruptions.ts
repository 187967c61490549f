import type { Page } from 'playwright-core';
import type { CaptureResult } from '../../outcome.ts';

export type Interruptions = {
  /** Aborts when the capture is interrupted, however. */
  signal: AbortSignal;
  /** The value of `work`, or the result of the interruption that came first. */
  orEnd<T>(work: Promise<T>): Promise<T | CaptureResult>;
  watchPage(page: Page): void;
  end(): void;
};

/**
 * What ends a capture from outside, whatever the page does meanwhile: the one deadline over all of it, the caller, and
 * the death of renderer or browser. No call into the page is trusted to return.
 */
export function watchInterruptions(timeoutMs: number, cancel: AbortSignal): Interruptions {
  const { promise, resolve } = Promise.withResolvers<CaptureResult>();
  const stop = new AbortController();
  const interrupt = (result: CaptureResult): void => {
    resolve(result);
    stop.abort();
  };
  const onCancel = (): void => interrupt({ outcome: 'canceled', detail: 'The capture was canceled.' });
  const timer = setTimeout(
    () => interrupt({ outcome: 'timeout', detail: `The page did not let itself be read within ${timeoutMs} ms.` }),
    timeoutMs,
  );
  if (cancel.aborted) onCancel();
  else cancel.addEventListener('abort', onCancel, { once: true });

  return {
    signal: stop.signal,
    orEnd: (work) => Promise.race([promise, work]),
    watchPage: (page) => {
      page.once('crash', () => interrupt({ outcome: 'crashed', detail: "The page's renderer crashed." }));
      page.once('close', () => interrupt({ outcome: 'crashed', detail: 'The browser went away.' }));
    },
    end: () => {
      clearTimeout(timer);
      cancel.removeEventListener('abort', onCancel);
    },
  };
}
