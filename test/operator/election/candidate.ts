// A process that stands for election, and says each moment that it would write as the leader.
// Usage: node candidate.ts KUBECONFIG NAMESPACE IDENTITY
import { once } from 'node:events';
import pino from 'pino';
import { aborted, connect, createLeader, loadKubeConfig } from '../../../pkg/operator/kube/index.ts';

export const TIMING = { leaseMs: 2_000, renewMs: 1_400, retryMs: 200 };
const TICK_MS = 10;

async function main(kubeConfigFile: string, namespace: string, identity: string): Promise<void> {
  const say = (what: string): void => void process.stdout.write(`${Date.now()} ${what}\n`);
  const connection = connect({ kubeConfig: loadKubeConfig(kubeConfigFile), userAgent: identity });
  const leader = createLeader({
    connection,
    lease: { namespace, name: 'lease' },
    identity,
    timing: TIMING,
    log: pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }, pino.destination(2)),
  });
  const stop = new AbortController();
  void once(process, 'SIGTERM').then(() => stop.abort());
  const ticks = setInterval(() => {
    if (leader.isLeading()) say('leads');
  }, TICK_MS);
  say('stands');
  const ending = await leader.run(stop.signal, (term) => aborted(term));
  clearInterval(ticks);
  say(ending);
  await connection.close();
}

const [, script, kubeConfigFile, namespace, identity] = process.argv;
if (
  script === import.meta.filename &&
  kubeConfigFile !== undefined &&
  namespace !== undefined &&
  identity !== undefined
)
  await main(kubeConfigFile, namespace, identity);
