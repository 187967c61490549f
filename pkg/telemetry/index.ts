export { createDispatchMetrics } from './dispatch-metrics.ts';
export { createLog, type Logger } from './log.ts';
export {
  createCaptureMetrics,
  createRegistry,
  observeRequests,
  type CaptureMetrics,
  type Registry,
} from './metrics.ts';
export { closeServer, drainServer, portOf, serveProbes, startListening } from './probes.ts';
