// The process behind guard.ts. It imports nothing of ours, so that it starts at once and can hardly fail.
import { createInterface } from 'node:readline';
import { constants } from 'node:os';

const GRACE_MS = 10_000;
const POLL_MS = 100;
const watched = new Map<number, number | undefined>();

function isAlive(pid: number): boolean {
  return send(pid, 0);
}

function send(pid: number, signal: number): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

function endAll(): void {
  for (const [pid, signal] of watched) if (signal !== undefined) send(pid, signal);
  const deadlineMs = Date.now() + GRACE_MS;
  const timer = setInterval(() => {
    const alive = [...watched.keys()].filter(isAlive);
    if (alive.length > 0 && Date.now() < deadlineMs) return;
    // The whole group: what the child started must not stay either.
    for (const pid of alive) send(-pid, constants.signals.SIGKILL);
    clearInterval(timer);
  }, POLL_MS);
}

// The end of the pipe is the only thing that ends the guard: a signal meant for its parent must not.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const commands = createInterface({ input: process.stdin });
commands.on('line', (line) => {
  const [verb, pidText, signalName] = line.split(' ');
  const pid = Number(pidText);
  if (verb === 'forget') watched.delete(pid);
  if (verb === 'watch') {
    watched.set(pid, Object.entries(constants.signals).find(([name]) => name === signalName)?.[1]);
  }
});
commands.on('close', endAll);
