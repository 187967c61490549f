import type { Response } from 'express';
import { pause } from '../runtime/index.ts';
import type { Directives } from './directives.ts';

/**
 * Waits before the first text: as long as `[[slow:MS]]` says, else `usualMs`. Ends early when the client is gone.
 * A stream that has begun must be held open with `[[stall]]`, so this never ends a response.
 */
export async function waitForFirstText(response: Response, { slowMs }: Directives, usualMs: number): Promise<void> {
  await pause(slowMs ?? usualMs, goneSignal(response));
}

/** Writes the lines one tick apart. With `[[stall]]` only half of them, and false: the response is to stay open. */
export async function writeInTicks(
  response: Response,
  lines: readonly string[],
  { stall }: Directives,
  tickMs: number,
): Promise<boolean> {
  const gone = goneSignal(response);
  for (const line of stall ? lines.slice(0, Math.ceil(lines.length / 2)) : lines) {
    if (gone.aborted) return false;
    response.write(line);
    await pause(tickMs, gone);
  }
  return !stall && !gone.aborted;
}

/** Aborted when the client has gone, so that no timer outlives its reader. */
function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  if (response.closed) gone.abort();
  else response.once('close', () => gone.abort());
  return gone.signal;
}
