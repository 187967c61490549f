import { pause } from '../../pkg/runtime/index.ts';

/**
 * Asks until `condition` gives something other than undefined or false, and returns it. Throws with `what` when that
 * takes too long; an error of the condition itself is not waited out.
 */
export async function until<T>(
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  options: { timeoutMs: number; what: string; everyMs?: number },
): Promise<T> {
  const deadlineMs = Date.now() + options.timeoutMs;
  for (;;) {
    const result = await condition();
    if (result !== undefined && result !== false) return result;
    if (Date.now() > deadlineMs) throw new Error(`waited ${options.timeoutMs} ms in vain: ${options.what}`);
    await pause(options.everyMs ?? 50);
  }
}
