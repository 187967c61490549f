import { createHmac, timingSafeEqual } from 'node:crypto';

/** A receiver refuses older timestamps, so that a recorded delivery can't be replayed later (spec 6.5). */
const SIGNATURE_TOLERANCE_SECONDS = 300;

/**
 * Lower-case hex of HMAC-SHA256 over `<timestamp>.<raw body>` (spec 6.4). The key is the whole secret string as it was
 * shown, `whsec_` included.
 */
export function sign(secret: string, timestampSeconds: number, rawBody: string | Uint8Array): string {
  return createHmac('sha256', secret).update(`${timestampSeconds}.`).update(rawBody).digest('hex');
}

export type SignedRequest = {
  /** Header `X-Service-Timestamp`. */
  timestamp: string;
  /** Header `X-Service-Signature`. */
  signature: string;
  /** The bytes as received: parsing and printing again would change them. */
  rawBody: string | Uint8Array;
  /** Every secret that has not expired; more than one during a rotation. */
  secrets: readonly string[];
  nowSeconds: number;
};

/** True when a secret signed these bytes within the last five minutes (spec 6.5). The receiver's half of `sign`. */
export function verify({ timestamp, signature, rawBody, secrets, nowSeconds }: SignedRequest): boolean {
  if (!/^[1-9]\d{0,11}$/.test(timestamp) || !/^[0-9a-f]{64}$/.test(signature)) return false;
  const timestampSeconds = Number(timestamp);
  if (Math.abs(nowSeconds - timestampSeconds) > SIGNATURE_TOLERANCE_SECONDS) return false;
  const given = Buffer.from(signature, 'hex');
  return secrets.some((secret) => timingSafeEqual(Buffer.from(sign(secret, timestampSeconds, rawBody), 'hex'), given));
}
