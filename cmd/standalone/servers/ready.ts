import { pause } from '../../../pkg/runtime/index.ts';
import { readTail, type Child } from './child.ts';

const POLL_MS = 100;

/**
 * Waits until `isReady` says so. Throws with the end of the child's log when the child ends first, or when the
 * deadline passes or `signal` aborts; then the child is stopped. Whatever `isReady` throws only means "not yet", and is
 * shown when the deadline passes.
 */
export async function waitUntilReady(
  child: Child,
  options: { logFile: string; timeoutMs: number; isReady: () => Promise<boolean>; signal?: AbortSignal | undefined },
): Promise<void> {
  const deadlineMs = Date.now() + options.timeoutMs;
  let reason = 'it did not answer';
  while (!child.hasEnded()) {
    try {
      if (await options.isReady()) return;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    if (options.signal?.aborted === true) {
      await child.stop();
      throw new Error(`${child.name} was stopped while it started`);
    }
    if (Date.now() > deadlineMs) {
      await child.stop();
      throw new Error(
        await describe(`${child.name} was not ready within ${options.timeoutMs} ms (${reason})`, options.logFile),
      );
    }
    await pause(POLL_MS, options.signal);
  }
  throw new Error(await describe(`${child.name} did not start: ${await child.ended}`, options.logFile));
}

async function describe(what: string, logFile: string): Promise<string> {
  return `${what}. The end of ${logFile}:\n${await readTail(logFile, 12)}`;
}
