import { readFile } from 'node:fs/promises';
import { pause, runCommand } from '../../../pkg/runtime/index.ts';
import { hasCode } from './errors.ts';

const POLL_MS = 100;

/** The process id in the first line of a pid file, or undefined where there is none. */
async function readPidFile(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}

/**
 * Tells whether `pid` lives and its command line contains `words`. The words matter: after a reboot the same number
 * may belong to anything.
 */
export async function isRunning(pid: number, words: string): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return false;
  }
  return (await readCommandLine(pid)).includes(words);
}

async function readCommandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    const raw = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return raw.replaceAll('\0', ' ');
  }
  return runCommand('ps', ['-o', 'command=', '-p', String(pid)], { timeoutMs: 5_000 }).catch(() => '');
}

/**
 * Ends a server that an earlier run left behind, so that its data can be opened again. Throws when it does not end
 * even on SIGKILL.
 */
export async function endLeftover(options: {
  pidFile: string;
  words: string;
  signal: NodeJS.Signals;
  timeoutMs: number;
}): Promise<void> {
  const pid = await readPidFile(options.pidFile);
  if (pid === undefined) return;
  for (const signal of [options.signal, 'SIGKILL'] as const) {
    if (!(await isRunning(pid, options.words))) return;
    process.kill(pid, signal);
    const deadlineMs = Date.now() + options.timeoutMs;
    while (Date.now() < deadlineMs && (await isRunning(pid, options.words))) await pause(POLL_MS);
  }
  if (await isRunning(pid, options.words))
    throw new Error(`Process ${pid} of an earlier run does not end. Type: kill -9 ${pid}`);
}
