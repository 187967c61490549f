import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

export { Registry } from 'prom-client';

/** A registry of one process, with Node's own metrics in it. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

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
