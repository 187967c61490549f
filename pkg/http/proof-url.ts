import type { Envelope } from '../contract/index.ts';

/** The envelope with the absolute URL of its proof page, where there is one (spec 4.7: the key is URL-encoded). */
export function withProofUrl(envelope: Envelope, proofKey: string | null, publicBaseUrl: string): Envelope {
  return proofKey === null
    ? envelope
    : { ...envelope, html: `${publicBaseUrl}/v1/artifacts/${encodeURIComponent(proofKey)}` };
}
