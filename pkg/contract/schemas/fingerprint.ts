import { createHash } from 'node:crypto';
import type { SearchRequest } from './search.ts';

/**
 * What two submits with the same idempotency key must agree in: SHA-256 over the normalized request as JSON with
 * sorted keys. The order of surfaces and regions counts, as it is the order of the children. The key itself is left
 * out, and a webhook secret goes in as its hash, so that no store of fingerprints helps to guess it from the rest.
 */
export function fingerprint(request: SearchRequest): Buffer {
  const { idempotencyKey: _, webhook, ...rest } = request;
  const hashed =
    webhook === null
      ? null
      : { url: webhook.url, secret: webhook.secret === null ? null : sha256(webhook.secret).toString('hex') };
  return sha256(JSON.stringify({ ...rest, webhook: hashed }, sortKeys));
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
