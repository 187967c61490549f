import type { Logger } from 'pino';
import type { Registry } from 'prom-client';

import { judgeError } from './errors.ts';
import { controllerMetrics, type Outcome } from './metrics.ts';
import { parseKey, type KubeObject } from './object.ts';
import type { WorkQueue } from './queue.ts';
import type { ControllerOptions, Result } from './reconcile.ts';
import { aborted, childSignal, endsWithin, jitter, systemTimers } from './time.ts';

const TIMEOUT_MS = 30_000;
/** How long a reconciler that was told to stop is waited for. */
export const LINGER_MS = 5_000;
/** A requeue after nothing, often the result of a subtraction, would spin. */
const SHORTEST_REQUEUE_MS = 100;
const RESYNC_JITTER = 0.1;

/** One pass of the control loop over one key: reconcile under a deadline, count, and decide when the key comes again. */
export function createPass<T extends KubeObject>(
  options: ControllerOptions<T>,
  queue: WorkQueue,
  log: Logger,
  registry: Registry,
): (key: string, cut: AbortSignal) => Promise<void> {
  const { name, informer, reconcile, resyncMs, timeoutMs = TIMEOUT_MS } = options;
  const { random = Math.random, timers = systemTimers } = options;
  const metrics = controllerMetrics(registry, name);
  let busy = 0;

  function succeed(text: string, { requeueAfterMs }: Result): Outcome {
    if (Number.isNaN(requeueAfterMs)) throw new TypeError('requeueAfterMs is NaN');
    queue.forget(text);
    if (requeueAfterMs !== undefined) {
      queue.addAfter(text, Math.max(requeueAfterMs, SHORTEST_REQUEUE_MS));
      return 'requeue_after';
    }
    const isThere = informer.get(parseKey(text)) !== undefined;
    if (resyncMs !== undefined && isThere) queue.addAfter(text, jitter(resyncMs, RESYNC_JITTER, random));
    return 'success';
  }

  function fail(text: string, error: unknown): Outcome {
    const verdict = judgeError(error);
    if (verdict === 'terminal') {
      queue.forget(text);
      log.warn({ err: error, key: text }, 'Reconcile failed, and waits for a change');
      return 'terminal';
    }
    const retryMs = Math.round(queue.addBackedOff(text));
    if (verdict === 'quiet') {
      log.debug({ err: error, key: text, retryMs }, 'Reconcile was overtaken');
      return 'conflict';
    }
    log.error({ err: error, key: text, retryMs }, 'Reconcile failed');
    return 'error';
  }

  async function reconcileOnce(text: string, signal: AbortSignal): Promise<Outcome> {
    try {
      return succeed(text, await reconcile(parseKey(text), signal));
    } catch (error) {
      return fail(text, error);
    }
  }

  return async (text, cut) => {
    const startedMs = timers.nowMs();
    const { signal, abort, release } = childSignal(cut);
    const cancel = timers.after(timeoutMs, () => abort(new Error(`reconcile took longer than ${timeoutMs} ms`)));
    metrics.busy((busy += 1));
    const passed = reconcileOnce(text, signal).then((outcome) => {
      cancel();
      release();
      metrics.ended(outcome, (timers.nowMs() - startedMs) / 1000);
      metrics.busy((busy -= 1));
      queue.done(text);
    });
    await Promise.race([passed, aborted(signal)]);
    // The worker goes on. The key stays taken, so that no second pass runs beside the first.
    if (!(await endsWithin(passed, LINGER_MS, timers)))
      log.error({ key: text, timeoutMs }, 'Reconcile ignores its signal, and its key is stuck');
  };
}
