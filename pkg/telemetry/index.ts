export { createLog, type Logger } from './log.ts';
export { createCaptureMetrics, createRegistry, type CaptureMetrics, type Registry } from './metrics.ts';
export { closeServer, portOf, serveProbes, startListening } from './probes.ts';
