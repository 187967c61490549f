import { pause } from '../../runtime/index.ts';

/** Polls until the condition holds: browsers do much in the background. Throws after ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`still not true: ${condition.toString()}`);
    await pause(20);
  }
}
