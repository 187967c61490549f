import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * Ends our children when we are gone, however we died: `kill -9` lets no handler of ours run, and neither Postgres nor
 * Redis notices that its parent is away.
 */
export type Guard = {
  /** Without a signal the process notices our end by itself; it is only killed when it stays. */
  watch(pid: number, stopSignal: NodeJS.Signals | undefined): void;
  forget(pid: number): void;
  /** Resolves when the guard itself is gone; what it still watches is ended first. */
  close(): Promise<void>;
};

/** Starts the guard: a small process that reads from us what to watch, and acts when that pipe ends. */
export function startGuard(): Guard {
  const script = fileURLToPath(new URL('guard-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  // A guard that was killed is no reason to fall too: the next start finds what was left behind.
  child.stdin.on('error', () => undefined);
  child.unref();
  return {
    watch: (pid, stopSignal) => void child.stdin.write(`watch ${pid} ${stopSignal ?? 'none'}\n`),
    forget: (pid) => void child.stdin.write(`forget ${pid}\n`),
    close: async () => {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
