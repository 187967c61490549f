import { execFile, spawn } from 'node:child_process';

/** What a program said and how it ended; a failure is for the caller to judge. */
export type Said = { ok: boolean; stdout: string; stderr: string };

const DEFAULT_TIMEOUT_MS = 60_000;

/** Runs a program to its end, with `input` as its standard input. Never rejects. */
export function tell(
  command: string,
  args: readonly string[],
  { input = '', timeoutMs = DEFAULT_TIMEOUT_MS }: { input?: string; timeoutMs?: number } = {},
): Promise<Said> {
  return new Promise((resolve) => {
    const limits = { timeout: timeoutMs, killSignal: 'SIGKILL' as const, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(command, [...args], { ...limits, encoding: 'utf8' }, (error, stdout, stderr) =>
      resolve({ ok: error === null, stdout, stderr: error === null ? stderr : stderr || error.message }),
    );
    // A program that ends before it has read everything says so by itself.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** The same, where a failure ends the test with the program's own words. */
export async function run(
  command: string,
  args: readonly string[],
  options: { input?: string; timeoutMs?: number } = {},
): Promise<string> {
  const { ok, stdout, stderr } = await tell(command, args, options);
  if (!ok) throw new Error(`${command} ${args.join(' ')}\n${stderr.trim()}\n${stdout.trim().slice(-2_000)}`);
  return stdout;
}

/** A program that goes on beside the test until it is done by itself. */
export function runBeside(command: string, args: readonly string[], input: string): { ended: Promise<string> } {
  const child = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  child.stdin.end(input);
  const ended = new Promise<string>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(Buffer.concat(out).toString());
      else reject(new Error(`${command} ended with ${String(code)}: ${Buffer.concat(err).toString().slice(-2_000)}`));
    });
  });
  return { ended };
}

/** Asks again until `look` says something else than undefined. At the deadline it throws, with the last complaint. */
export async function until<T>(what: string, timeoutMs: number, look: () => Promise<T | undefined>): Promise<T> {
  const untilMs = Date.now() + timeoutMs;
  let complaint = '';
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      complaint = error instanceof Error ? error.message : String(error);
    }
    if (Date.now() > untilMs) throw new Error(`${what} did not come within ${timeoutMs / 1000} s. ${complaint}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
