import type { AttemptResult } from './attempt.ts';
import type { AttemptEnd } from './ends.ts';
import { nextPauseMs } from './schedule.ts';

type EndedAttempt = Exclude<AttemptResult, { kind: 'stopped' }>;

/** A receiver that answers 4xx works, whatever it thinks of this delivery; silence, 5xx and 429 show trouble. */
export function showsTrouble(result: EndedAttempt): boolean {
  return result.kind === 'unanswered' ? result.reached : result.status >= 500 || result.status === 429;
}

/** Only 2xx acknowledges and only 410 ends a delivery early; a redirect is a failure like any other answer. */
export function judgeAttempt(result: EndedAttempt, attempts: number, random: () => number): AttemptEnd {
  if (result.kind === 'answered' && result.status >= 200 && result.status < 300) {
    return { state: 'delivered', status: result.status, error: null };
  }
  if (result.kind === 'answered' && result.status === 410) return { state: 'gone', status: 410, error: null };
  const status = result.kind === 'answered' ? result.status : null;
  const error = result.kind === 'answered' ? `the receiver answered ${result.status}` : result.error;
  const retryAfterMs = result.kind === 'answered' ? result.retryAfterMs : undefined;
  const pauseMs = nextPauseMs({ attempts, random, retryAfterMs });
  return pauseMs === null ? { state: 'dead', status, error } : { state: 'pending', status, error, pauseMs };
}
