import { spawn, type ChildProcess } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { withDeadline } from '../../../pkg/runtime/index.ts';
import { hasCode } from './errors.ts';
import type { Guard } from './guard.ts';

export type ChildOptions = {
  /** For people and messages: `api`, `Postgres`. */
  name: string;
  command: string;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
  /** Gets standard output and error, appended. A file, not a pipe: the child may outlive us for a moment. */
  logFile: string;
  stopSignal: NodeJS.Signals;
  stopTimeoutMs: number;
  /** A channel whose end tells a Node child that we are gone. */
  channel: boolean;
  guard: Guard;
};

/** A process that we started. It leads a process group of its own, so that Ctrl-C at the terminal reaches only us. */
export type Child = {
  name: string;
  pid: number;
  /** Resolves, never rejects, to how it ended: `exit code 1`, `signal SIGKILL`. */
  ended: Promise<string>;
  hasEnded: () => boolean;
  /** Asks it to end, and kills it and its group when it has not after the deadline. */
  stop: () => Promise<void>;
  /** Ends it without notice, as a crash would. */
  kill9: () => Promise<void>;
};

const KILL_TIMEOUT_MS = 10_000;

/** Starts a process. Rejects when it can't be started at all. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, guard, stopSignal, stopTimeoutMs } = options;
  const child = await spawnInto(options);
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} has no process id`);
  let over = false;
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      over = true;
      guard.forget(pid);
      resolve(signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`);
    });
  });
  // A second request to stop would be an order to stop at once: a child with a channel has had its first by then.
  guard.watch(pid, options.channel ? undefined : stopSignal);

  const kill9 = async (): Promise<void> => {
    if (!over) signalGroup(pid, 'SIGKILL');
    await withDeadline(ended, KILL_TIMEOUT_MS, `the end of ${name}`);
  };
  return {
    name,
    pid,
    ended,
    hasEnded: () => over,
    kill9,
    stop: async () => {
      if (!over) child.kill(stopSignal);
      const inTime = await Promise.race([ended.then(() => true), after(stopTimeoutMs)]);
      if (!inTime) await kill9();
    },
  };
}

async function spawnInto(options: ChildOptions): Promise<ChildProcess> {
  const { command, args, cwd, env, uid, gid, logFile, channel } = options;
  const log = await open(logFile, 'a');
  try {
    const child = spawn(command, [...args], {
      cwd,
      env,
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
      detached: true,
      stdio: ['ignore', log.fd, log.fd, ...(channel ? (['ipc'] as const) : [])],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    return child;
  } finally {
    await log.close();
  }
}

function after(timeoutMs: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), timeoutMs).unref());
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It ended between our look and the signal.
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}

/** The end of a log, for the message when its writer failed. */
export async function readTail(logFile: string, lines: number): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}
