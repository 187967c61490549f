import { execFile } from 'node:child_process';

type CommandOptions = {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
  /** The command is killed when it has not ended by then. */
  timeoutMs: number;
};

/**
 * Runs a program to its end, without a shell, and resolves to what it printed. Rejects with the program's own words
 * when it fails, can't be started, or takes too long.
 */
export function runCommand(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { timeoutMs, ...rest } = options;
  const limits = { timeout: timeoutMs, killSignal: 'SIGKILL' as const, maxBuffer: 32 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(command, [...args], { ...rest, ...limits, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout);
        return;
      }
      const reason = error.killed === true ? `did not end within ${timeoutMs} ms` : lastLines(stderr) || error.message;
      reject(new Error(`${[command, ...args].join(' ')}: ${reason}`, { cause: error }));
    });
  });
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-5).join('\n');
}
