import { DeadlineError } from '../../runtime/index.ts';

export type Slots = {
  /** Waits in line. Rejects with a DeadlineError after `timeoutMs`, or when `signal` aborts or the slots are closed. */
  take(timeoutMs: number, signal: AbortSignal): Promise<void>;
  give(): void;
  /** Refuses whoever waits and whoever comes. */
  close(): void;
};

/** At most `count` holders at once, served in the order they came. */
export function createSlots(count: number): Slots {
  let free = count;
  let closed = false;
  const waiting = new Set<{ admit: () => void; refuse: (error: Error) => void }>();

  return {
    take: (timeoutMs, signal) => {
      if (closed) return Promise.reject(new Error('the browser pool is closed'));
      if (signal.aborted) return Promise.reject(new Error('canceled while waiting for a browser'));
      if (free > 0) {
        free -= 1;
        return Promise.resolve();
      }
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          waiting.delete(entry);
        };
        const entry = {
          admit: () => {
            leave();
            resolve();
          },
          refuse: (error: Error) => {
            leave();
            reject(error);
          },
        };
        const onAbort = (): void => entry.refuse(new Error('canceled while waiting for a browser'));
        const timer = setTimeout(
          () => entry.refuse(new DeadlineError(`no browser became free within ${timeoutMs} ms`)),
          timeoutMs,
        );
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.add(entry);
      });
    },
    give: () => {
      const [next] = waiting;
      if (next === undefined) free += 1;
      else next.admit();
    },
    close: () => {
      closed = true;
      for (const entry of waiting) entry.refuse(new Error('the browser pool is closed'));
    },
  };
}
