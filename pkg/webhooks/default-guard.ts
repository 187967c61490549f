import { createGuard, type Guard } from './guard.ts';
import { createDnsResolver, createSystemResolver } from '../network/index.ts';
import { parseExtraDestinations } from './url.ts';

const RESOLVE_TIMEOUT_MS = 3_000;

/** The guard of a process: public destinations, and those that the operator listed as `host:port[,…]`. */
export function createWebhookGuard(extraDestinations: string): Guard {
  return createGuard({
    extras: parseExtraDestinations(extraDestinations),
    resolvePublic: createDnsResolver({ timeoutMs: RESOLVE_TIMEOUT_MS }),
    resolveExtra: createSystemResolver({ timeoutMs: RESOLVE_TIMEOUT_MS }),
  });
}
