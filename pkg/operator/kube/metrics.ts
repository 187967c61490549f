import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

// The names are client-go's and controller-runtime's, so that their dashboards and alerts fit.

/** Counts calls to the API server by method and status code. */
export function countCalls(registry: Registry): (method: string, code: string) => void {
  const calls = counter(registry, 'rest_client_requests_total', 'Calls to the API server', ['method', 'code']);
  return (method, code) => calls.inc({ method, code });
}

export type InformerMetrics = { objects(count: number): void; relisted(): void; watchEnded(reason: string): void };

export function informerMetrics(registry: Registry, kind: string): InformerMetrics {
  const objects = gauge(registry, 'kube_informer_objects', 'Objects in the cache', ['kind']);
  const relists = counter(registry, 'kube_informer_lists_total', 'Full lists', ['kind']);
  const ends = counter(registry, 'kube_informer_watch_ends_total', 'Watches that ended', ['kind', 'reason']);
  return {
    objects: (count) => objects.set({ kind }, count),
    relisted: () => relists.inc({ kind }),
    watchEnded: (reason) => ends.inc({ kind, reason }),
  };
}

export type QueueMetrics = {
  depth(count: number): void;
  added(): void;
  retried(): void;
  waited(seconds: number): void;
  worked(seconds: number): void;
};

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300];

export function queueMetrics(registry: Registry, name: string): QueueMetrics {
  const labels = ['name'];
  const depth = gauge(registry, 'workqueue_depth', 'Keys that wait', labels);
  const adds = counter(registry, 'workqueue_adds_total', 'Keys added', labels);
  const retries = counter(registry, 'workqueue_retries_total', 'Keys added after a failure', labels);
  const waits = histogram(registry, 'workqueue_queue_duration_seconds', 'Time from added to taken', labels);
  const works = histogram(registry, 'workqueue_work_duration_seconds', 'Time from taken to done', labels);
  return {
    depth: (count) => depth.set({ name }, count),
    added: () => adds.inc({ name }),
    retried: () => retries.inc({ name }),
    waited: (seconds) => waits.observe({ name }, seconds),
    worked: (seconds) => works.observe({ name }, seconds),
  };
}

export type Outcome = 'success' | 'requeue_after' | 'error' | 'terminal' | 'conflict';

export type ControllerMetrics = { busy(count: number): void; ended(outcome: Outcome, seconds: number): void };

export function controllerMetrics(registry: Registry, controller: string): ControllerMetrics {
  const labels = ['controller'];
  const busy = gauge(registry, 'controller_runtime_active_workers', 'Keys worked on', labels);
  const total = counter(registry, 'controller_runtime_reconcile_total', 'Passes', ['controller', 'result']);
  const errors = counter(registry, 'controller_runtime_reconcile_errors_total', 'Passes that failed', labels);
  const terminal = counter(
    registry,
    'controller_runtime_terminal_reconcile_errors_total',
    'Passes that failed and are not tried again before a change',
    labels,
  );
  const time = histogram(registry, 'controller_runtime_reconcile_time_seconds', 'Time of a pass', labels);
  return {
    busy: (count) => busy.set({ controller }, count),
    ended: (outcome, seconds) => {
      total.inc({ controller, result: outcome });
      time.observe({ controller }, seconds);
      if (outcome === 'error' || outcome === 'terminal') errors.inc({ controller });
      if (outcome === 'terminal') terminal.inc({ controller });
    },
  };
}

export function leaderMetrics(registry: Registry, name: string): (leading: boolean) => void {
  const leads = gauge(registry, 'leader_election_master_status', '1 while this replica leads', ['name']);
  leads.set({ name }, 0);
  return (leading) => leads.set({ name }, leading ? 1 : 0);
}

export function eventMetrics(registry: Registry): () => void {
  const dropped = counter(registry, 'kube_events_dropped_total', 'Events that were not written, as too many came', []);
  return () => dropped.inc();
}

// Several queues and informers share a registry, which knows each name once.

function counter(registry: Registry, name: string, help: string, labelNames: string[]): Counter {
  const known = registry.getSingleMetric(name);
  return known instanceof Counter ? known : new Counter({ name, help, labelNames, registers: [registry] });
}

function gauge(registry: Registry, name: string, help: string, labelNames: string[]): Gauge {
  const known = registry.getSingleMetric(name);
  return known instanceof Gauge ? known : new Gauge({ name, help, labelNames, registers: [registry] });
}

function histogram(registry: Registry, name: string, help: string, labelNames: string[]): Histogram {
  const known = registry.getSingleMetric(name);
  if (known instanceof Histogram) return known;
  return new Histogram({ name, help, labelNames, buckets: SECONDS, registers: [registry] });
}
