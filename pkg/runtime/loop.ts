import type { Logger } from 'pino';
import { pause } from './clock.ts';
import { withDeadline } from './process.ts';

export type LoopOptions = {
  name: string;
  /** Pause after a turn that found nothing. */
  idleMs: number;
  /** No turn may take longer: a hung one would silently end the loop's work. */
  turnTimeoutMs: number;
  log: Logger;
};

export type Loop = {
  /** Makes the next turn start now. */
  wake(): void;
  stop(): Promise<void>;
};

/**
 * Repeats `turn` until stopped. A turn that says `'more'` is followed by the next at once; an error is logged and
 * followed by a pause, never by the loop's end.
 */
export function startLoop(options: LoopOptions, turn: () => Promise<'more' | 'idle'>): Loop {
  const { name, idleMs, turnTimeoutMs, log } = options;
  const stop = new AbortController();
  let wakeUp = new AbortController();

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      // Renewed before the turn: a wake-up that comes during it must not be lost.
      wakeUp = new AbortController();
      let found: 'more' | 'idle' = 'idle';
      try {
        found = await withDeadline(turn(), turnTimeoutMs, `a turn of ${name}`);
      } catch (error) {
        log.error({ err: error, loop: name }, 'Turn failed');
      }
      if (found === 'idle') await pause(idleMs, AbortSignal.any([stop.signal, wakeUp.signal]));
    }
  }
  const ended = run();
  return {
    wake: () => wakeUp.abort(),
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}
