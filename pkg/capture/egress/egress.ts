import { createSystemResolver } from '../../network/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { openEgressGuard, type EgressGuard, type Refusal } from './guard.ts';
import { deriveRules, parseHostRule } from './rules.ts';

export type EgressOptions = {
  /** Hosts beside those of the profile's start address: see `parseHostRule`. */
  allowHosts?: readonly string[];
  /** Proxies by country, as URLs with their credentials: `http`, `https` or `socks5`. */
  proxies?: ReadonlyMap<string, string>;
  /** Called for every request that was refused. */
  onRefused?: (refusal: Refusal) => void;
};

/** The way out for one capture. `country` is set where the traffic leaves in that country. */
export type EgressRoute = { proxyUrl: string; country: string | null };

export type Egress = {
  /** Through the country's proxy where the lane has one, else directly. */
  routeFor(country: string | undefined): Promise<EgressRoute>;
  /** What was refused last; null when nothing was. */
  lastRefusal(): Refusal | null;
  close(): Promise<void>;
};

const RESOLVE_TIMEOUT_MS = 5_000;
/** A page can ask for any number of names; so many are logged. */
const MAX_TOLD_HOSTS = 200;

/** All the ways out of one lane. Each is opened when the first capture needs it. */
export function createEgress(startUrl: string, options: EgressOptions, log: Logger): Egress {
  const { allowHosts = [], proxies = new Map<string, string>(), onRefused } = options;
  const rules = [...deriveRules(startUrl), ...allowHosts.map(parseHostRule)];
  const resolve = createSystemResolver({ timeoutMs: RESOLVE_TIMEOUT_MS });
  const guards = new Map<string | null, Promise<EgressGuard>>();
  const told = new Set<string>();
  let last: Refusal | null = null;

  function remember(refusal: Refusal): void {
    last = refusal;
    onRefused?.(refusal);
    // Told once for each host: a page may repeat itself for as long as it lives.
    if (told.has(refusal.host) || told.size >= MAX_TOLD_HOSTS) return;
    told.add(refusal.host);
    log.warn(refusal, 'A request was refused by the egress guard');
  }

  function guardFor(country: string | null): Promise<EgressGuard> {
    const known = guards.get(country);
    if (known !== undefined) return known;
    const upstream = country === null ? null : (proxies.get(country) ?? null);
    const opening = openEgressGuard({ rules, upstream, resolve, onRefused: remember });
    guards.set(country, opening);
    // One that failed to open must not be what every later capture gets.
    opening.catch(() => guards.delete(country));
    return opening;
  }

  return {
    routeFor: async (wanted) => {
      const country = wanted !== undefined && proxies.has(wanted) ? wanted : null;
      const { proxyUrl } = await guardFor(country);
      return { proxyUrl, country };
    },
    lastRefusal: () => last,
    close: async () => {
      for (const opening of guards.values()) {
        await opening.then(
          (guard) => guard.close(),
          (error: unknown) => log.debug({ err: error }, 'A guard did not open'),
        );
      }
      guards.clear();
    },
  };
}
