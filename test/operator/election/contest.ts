import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startProxy, type Proxy } from '../../support/kube/proxy.ts';
import type { KubeServer } from '../../support/kube/server.ts';
import { until } from '../../support/poll.ts';

export type Candidate = {
  name: string;
  proxy: Proxy;
  /** True if it has said that it leads since `sinceMs`. */
  hasLed(sinceMs: number): boolean;
  /** What it said last besides that: `stands`, `stopped`, `lost`. */
  state(): string;
  freeze(): void;
  thaw(): void;
  /** Asks it to stop, and waits for it to be gone. */
  stop(): Promise<void>;
  close(): Promise<void>;
};

export type Contest = {
  enter(name: string): Promise<Candidate>;
  /** Pairs of terms in which two candidates would have written at once. */
  overlaps(): readonly string[];
  /** How many terms there have been. */
  terms(): number;
};

type Term = { name: string; firstMs: number; lastMs: number };

const SCRIPT = fileURLToPath(new URL('candidate.ts', import.meta.url));

/** Processes that stand for one lease, each behind a network of its own. */
export function openContest(server: KubeServer, options: { namespace: string; dir: string }): Contest {
  const terms: Term[] = [];

  function tell(name: string, atMs: number): void {
    const own = terms.findLast((term) => term.name === name);
    if (own === undefined) terms.push({ name, firstMs: atMs, lastMs: atMs });
    else own.lastMs = atMs;
  }

  return {
    enter: async (name) => {
      const proxy = await startProxy(server.port);
      const file = join(options.dir, `${name}.json`);
      await writeFile(file, server.kubeConfigVia(proxy.port));
      const child = spawn(process.execPath, [SCRIPT, file, options.namespace, name], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(child, 'exit');
      let [ledMs, state] = [0, ''];
      createInterface({ input: child.stdout }).on('line', (line) => {
        const [at = '', what = ''] = line.split(' ');
        if (what !== 'leads') state = what;
        else tell(name, (ledMs = Number(at)));
      });
      await until(() => state === 'stands', { timeoutMs: 60_000, what: `${name} stands` });
      return {
        name,
        proxy,
        hasLed: (sinceMs) => ledMs > sinceMs,
        state: () => state,
        freeze: () => child.kill('SIGSTOP'),
        thaw: () => child.kill('SIGCONT'),
        stop: async () => {
          child.kill('SIGTERM');
          await ended;
        },
        close: async () => {
          await endNow(child, ended);
          await proxy.close();
        },
      };
    },
    terms: () => terms.length,
    overlaps: () =>
      terms.flatMap((one, at) =>
        terms
          .slice(at + 1)
          .filter((other) => other.firstMs <= one.lastMs && one.firstMs <= other.lastMs)
          .map((other) => `${one.name} until ${one.lastMs}, ${other.name} from ${other.firstMs}`),
      ),
  };
}

async function endNow(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await ended;
}
