import { deliveryTypeOf, isTerminal, regionKey, type DeliveryType, type Envelope } from '../contract/index.ts';

export type DeliveryBodyInput = {
  /** The delivery's id: receivers recognize a repeated delivery by it (spec 6.2). */
  eventId: string;
  envelope: Envelope;
  /** ISO 8601. */
  createdAt: string;
};

/**
 * The event of an ended capture and the bytes of its delivery (design "Webhooks"). Built once and stored: every attempt
 * sends and signs the same bytes. Throws when the capture has not ended.
 */
export function buildDelivery({ eventId, envelope, createdAt }: DeliveryBodyInput): {
  type: DeliveryType;
  body: string;
} {
  const { job, provenance, credits } = envelope;
  if (!isTerminal(job.status)) throw new Error(`${job.id} has not ended, so there is nothing to deliver`);
  const type = deliveryTypeOf(job.status);
  const body = JSON.stringify({
    id: eventId,
    type,
    createdAt,
    job: {
      id: job.id,
      parentId: job.parentId,
      surface: job.surface,
      region: regionKey(provenance.region.requested),
      status: job.status,
    },
    result: envelope,
    credits,
  });
  return { type, body };
}
