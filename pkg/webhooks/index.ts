export { buildDelivery } from './body.ts';
export { insertDelivery, listDeliveries, redeliver, type DeliverySummary } from './deliveries.ts';
export { forgetDeliveries } from './forget.ts';
export { createGuard, requireDestination, type Guard } from './guard.ts';
export { createSystemResolver } from '../network/index.ts';
export {
  createSecret,
  listSecrets,
  resolveSigningSecret,
  resolveSigningSecrets,
  rotateSecret,
  sealInlineSecret,
} from './secrets.ts';
export { sign, verify } from './signature.ts';
export { parseExtraDestinations } from './url.ts';
export { createDeliveryWorker, type DeliveryWorker, type DeliveryWorkerOptions } from './worker.ts';
export { createWebhookGuard } from './default-guard.ts';
