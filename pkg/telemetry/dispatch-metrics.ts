import { Counter, Histogram, type Registry } from 'prom-client';

/** What a dispatcher tells of watches and webhooks. Labels come from closed sets only. */
export type DispatchMetrics = {
  runEnded: (run: { status: string; latenessMs: number }) => void;
  attemptEnded: (attempt: { outcome: string; durationMs: number }) => void;
};

export function createDispatchMetrics(registry: Registry): DispatchMetrics {
  const registers = [registry];
  const runs = new Counter({
    name: 'scs_watch_runs_total',
    help: 'Runs of watches that this process recorded',
    labelNames: ['status'] as const,
    registers,
  });
  const lateness = new Histogram({
    name: 'scs_watch_lateness_seconds',
    help: 'Time from the moment when a watch was due, its spread included, to its run',
    buckets: [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600],
    registers,
  });
  const attempts = new Counter({
    name: 'scs_webhook_attempts_total',
    help: 'Attempts of webhook deliveries; postponed ones were not sent, lost ones are repeated by another process',
    labelNames: ['outcome'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'scs_webhook_attempt_seconds',
    help: 'Time of one attempt that was sent, from its start to its record',
    labelNames: ['outcome'] as const,
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20],
    registers,
  });
  return {
    runEnded: ({ status, latenessMs }) => {
      runs.inc({ status });
      lateness.observe(latenessMs / 1000);
    },
    attemptEnded: ({ outcome, durationMs }) => {
      attempts.inc({ outcome });
      if (outcome !== 'postponed') seconds.observe({ outcome }, durationMs / 1000);
    },
  };
}
