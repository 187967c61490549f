import type { Logger } from 'pino';

/** What a process may do while it comes up: register the undo of each thing it builds, and notice the end. */
export type Lifetime = {
  /** Runs at the end, last registered first. Each is given `releaseTimeoutMs`. */
  defer(name: string, release: () => Promise<unknown>): void;
  /** Aborted when the process is asked to stop. */
  signal: AbortSignal;
  /** Ends the process with exit code 1: something it can't do without is gone for good. */
  fail(error: unknown): void;
};

export type RunOptions = { log: Logger; releaseTimeoutMs: number };

const SAME_SIGNAL_MS = 500;

/**
 * Runs `start`, waits for SIGTERM or SIGINT (or the parent's end, where there is a parent channel), then releases in
 * reverse order. A second signal exits at once. Exit code 0 after a clean stop, 1 after any error.
 */
export async function runProcess(options: RunOptions, start: (lifetime: Lifetime) => Promise<void>): Promise<void> {
  const { log, releaseTimeoutMs } = options;
  const stop = new AbortController();
  const releases: { name: string; release: () => Promise<unknown> }[] = [];
  let exitCode = 0;

  let stoppedMs = 0;
  const onSignal = (signal: string): void => {
    if (stop.signal.aborted) {
      // A signal to the whole group reaches us twice when a parent passes it on too: that is still the first one.
      if (performance.now() - stoppedMs > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    stoppedMs = performance.now();
    log.info({ signal }, 'Stopping');
    stop.abort();
  };
  const fail = (error: unknown): void => {
    log.error({ err: error }, 'Stopping on an error');
    exitCode = 1;
    stop.abort();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  // A child of the local launcher must not outlive it, however it died.
  process.on('disconnect', () => onSignal('parent is gone'));
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);

  try {
    await start({ defer: (name, release) => releases.push({ name, release }), signal: stop.signal, fail });
    await aborted(stop.signal);
  } catch (error) {
    fail(error);
  }
  for (const { name, release } of releases.reverse()) {
    try {
      await withDeadline(release(), releaseTimeoutMs, `release of ${name}`);
    } catch (error) {
      log.error({ err: error, name }, 'Could not release');
      exitCode = 1;
    }
  }
  log.info('Stopped');
  process.exit(exitCode);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Rejects when `work` has not ended after `timeoutMs`. The work itself goes on: it must have its own way to stop. */
export async function withDeadline<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(`${what} took longer than ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}
