import { isTerminal } from '../contract/index.ts';
import type { Database } from '../postgres/index.ts';
import { readJobState } from './read.ts';

/** How often a waiting request looks for itself: the notice may have been missed. */
const LOOK_EVERY_MS = 1_000;

export type Waiters = {
  /** To be called for each notice that a search has ended. */
  onEnded(jobId: string): void;
  /** Resolves true when the job is terminal, false when `timeoutMs` or the signal came first. */
  wait(accountId: string, jobId: string, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
};

/** Requests of this process that wait for a search to end. A notice wakes them early; they look in the database anyway. */
export function createWaiters(db: Database): Waiters {
  const waiting = new Map<string, Set<() => void>>();

  async function wait(accountId: string, jobId: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    while (!deadline.aborted) {
      // Registered before looking: a job that ends in between wakes us.
      const nudge = nextNudge(waiting, jobId, deadline);
      const state = await readJobState(db, accountId, jobId).finally(nudge.arm);
      if (state !== null && isTerminal(state)) {
        nudge.cancel();
        return true;
      }
      await nudge.came;
    }
    const state = await readJobState(db, accountId, jobId);
    return state !== null && isTerminal(state);
  }

  return {
    wait,
    onEnded: (jobId) => {
      for (const nudge of waiting.get(jobId) ?? []) nudge();
    },
  };
}

/** Comes with a notice, the deadline, or the next look, whichever is first. */
function nextNudge(
  waiting: Map<string, Set<() => void>>,
  jobId: string,
  deadline: AbortSignal,
): { came: Promise<void>; arm: () => void; cancel: () => void } {
  const nudges = waiting.get(jobId) ?? new Set();
  waiting.set(jobId, nudges);
  let timer: NodeJS.Timeout | undefined;
  let end = (): void => undefined;
  const came = new Promise<void>((resolve) => {
    end = () => {
      clearTimeout(timer);
      nudges.delete(end);
      if (nudges.size === 0) waiting.delete(jobId);
      deadline.removeEventListener('abort', end);
      resolve();
    };
  });
  nudges.add(end);
  deadline.addEventListener('abort', end, { once: true });
  return { came, arm: () => (timer = setTimeout(end, LOOK_EVERY_MS)), cancel: end };
}
