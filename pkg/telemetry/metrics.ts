import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

export { Registry } from 'prom-client';

/** A registry of one process, with Node's own metrics in it. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** Counts and times the requests of a server by method and status: sets so small that no client can grow them. */
export function observeRequests(server: Server, registry: Registry): void {
  const seconds = new Histogram({
    name: 'scs_http_request_seconds',
    help: 'Time from the head of a request to the end of its answer',
    labelNames: ['method', 'status'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 90],
    registers: [registry],
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const method = request.method ?? '';
    const end = seconds.startTimer({ method: METHODS.has(method) ? method : 'other' });
    response.once('close', () => end({ status: response.writableFinished ? response.statusCode : 'aborted' }));
  });
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

/** What a lane tells about its captures. Labels come from closed sets only. */
export type CaptureMetrics = {
  ended: Counter<'surface' | 'outcome'>;
  seconds: Histogram<'surface'>;
  busy: Gauge;
  egressRefused: Counter<'surface'>;
};

export function createCaptureMetrics(registry: Registry): CaptureMetrics {
  const registers = [registry];
  return {
    ended: new Counter({
      name: 'scs_captures_ended_total',
      help: 'Captures that ended in this process',
      labelNames: ['surface', 'outcome'],
      registers,
    }),
    seconds: new Histogram({
      name: 'scs_capture_seconds',
      help: 'Time of one capture, from its claim to its end',
      labelNames: ['surface'],
      buckets: [0.5, 1, 2, 5, 10, 20, 40, 80, 120],
      registers,
    }),
    egressRefused: new Counter({
      name: 'scs_egress_refused_total',
      help: "Requests of pages that the lane's egress guard refused",
      labelNames: ['surface'],
      registers,
    }),
    busy: new Gauge({ name: 'scs_captures_running', help: 'Captures that run in this process now', registers }),
  };
}
