import { startLoop } from '../runtime/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { PodReport } from './pods.ts';

export type ReporterDeps = {
  report(report: Pick<PodReport, 'busy' | 'drained'>): Promise<{ cordoned: boolean }>;
  running(): number;
  /** Takes no more captures; resolves when those under way have ended. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  log: Logger;
};

const REPORT_MS = 2_000;
const REPORT_TIMEOUT_MS = 10_000;

/**
 * Tells the controller every two seconds what this pod does, and stops and starts taking captures as it is told.
 * Lets the pod be deleted without losing a capture: `drained` is said only when nothing runs and nothing can begin, and
 * is taken back, in words that are stored, before anything begins again.
 */
export function startReporter(deps: ReporterDeps): { stop(): Promise<void> } {
  const turn = createReporterTurn(deps);
  return startLoop({ name: 'reporting', idleMs: REPORT_MS, turnTimeoutMs: REPORT_TIMEOUT_MS, log: deps.log }, turn);
}

/** One report and what follows from its answer; apart from the loop so that tests can order the turns. */
export function createReporterTurn(deps: ReporterDeps): () => Promise<'more' | 'idle'> {
  let state: 'taking' | 'pausing' | 'paused' = 'taking';
  let cordoned = false;

  function startPausing(): void {
    state = 'pausing';
    deps.pause().then(
      () => (state = 'paused'),
      (error: unknown) => {
        deps.log.error({ err: error }, 'Could not stop taking captures');
        state = 'taking';
      },
    );
  }

  return async () => {
    const drained = state === 'paused' && cordoned && deps.running() === 0;
    const answer = await deps.report({ busy: deps.running(), drained });
    if (answer.cordoned && state === 'taking') startPausing();
    // Only after a report that did not say "drained": whoever read one that did may be deleting this pod.
    else if (!answer.cordoned && state === 'paused' && !drained) {
      await deps.resume();
      state = 'taking';
    }
    cordoned = answer.cordoned;
    return drained && !cordoned ? 'more' : 'idle';
  };
}
