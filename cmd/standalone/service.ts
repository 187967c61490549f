import { pause } from '../../pkg/runtime/index.ts';
import { startChild, type Child, type ChildOptions } from './servers/child.ts';
import { waitUntilReady } from './servers/ready.ts';

export type ServiceOptions = {
  child: ChildOptions;
  isReady: () => Promise<boolean>;
  readyTimeoutMs: number;
  /** Pause before the first restart; doubles with each further one, up to `maxBackoffMs`. */
  backoffMs: number;
  maxBackoffMs: number;
  say: (line: string) => void;
  signal: AbortSignal;
};

export type Service = { stop(): Promise<void> };

/**
 * Starts one of our processes and resolves when it is ready. From then on it is started again whenever it ends by
 * itself, with a line that says so. Rejects, with the end of its log, when it can't come up the first time.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { child: childOptions, readyTimeoutMs, isReady, signal } = options;
  const stopping = new AbortController();
  const isStopping = (): boolean => stopping.signal.aborted;
  let child = await startChild(childOptions);
  await waitUntilReady(child, { logFile: childOptions.logFile, timeoutMs: readyTimeoutMs, isReady, signal });

  async function keepAlive(): Promise<void> {
    let backoffMs = options.backoffMs;
    while (!isStopping()) {
      const startedMs = Date.now();
      const how = await child.ended;
      if (isStopping()) return;
      if (Date.now() - startedMs > options.maxBackoffMs) backoffMs = options.backoffMs;
      options.say(
        `${child.name} ended (${how}); starting it again in ${backoffMs / 1000} s. Log: ${childOptions.logFile}`,
      );
      await pause(backoffMs, stopping.signal);
      backoffMs = Math.min(backoffMs * 2, options.maxBackoffMs);
      if (!isStopping()) child = await startAgain(child);
    }
  }

  async function startAgain(last: Child): Promise<Child> {
    try {
      return await startChild(childOptions);
    } catch (error) {
      options.say(`${last.name} can't be started: ${error instanceof Error ? error.message : String(error)}`);
      return last;
    }
  }

  const kept = keepAlive();
  return {
    stop: async () => {
      stopping.abort();
      await child.stop();
      await kept;
      // It may have been started again while it was asked to stop.
      await child.stop();
    },
  };
}
