import { invalid } from '../contract/index.ts';
import { classifyAddress, type Resolve } from '../network/index.ts';
import { vetUrl, type ExtraDestination, type UrlVerdict } from './url.ts';

export type Destination = {
  url: URL;
  /** The only addresses that may be connected to. At least one. */
  addresses: string[];
};

type DestinationVerdict =
  | { kind: 'allowed'; destination: Destination }
  | { kind: 'refused'; reason: string }
  /** The name has no address right now: fine when a search is accepted, a failed attempt when it is delivered. */
  | { kind: 'unresolved'; reason: string };

/** Decides where webhooks may go. */
export type Guard = { resolveDestination(url: string): Promise<DestinationVerdict> };

export type GuardOptions = {
  extras: readonly ExtraDestination[];
  /** For names that tenants choose. */
  resolvePublic: Resolve;
  /** For names that the operator listed in `extras`. */
  resolveExtra: Resolve;
};

/** Verdicts that are kept: one for each URL that deliveries go to at the moment. */
const MOST_VETTED = 1_000;

/**
 * A destination is refused when its URL or ANY address of its name is not public: with a mixed answer it would be up
 * to chance which address is used (spec 6.7). Asked again before every attempt, because names change.
 */
export function createGuard({ extras, resolvePublic, resolveExtra }: GuardOptions): Guard {
  // The half of the verdict that depends on nothing but the text.
  const vetted = new Map<string, UrlVerdict>();

  function vet(text: string): UrlVerdict {
    const known = vetted.get(text);
    if (known !== undefined) return known;
    if (vetted.size >= MOST_VETTED) vetted.clear();
    const verdict = vetUrl(text, extras);
    vetted.set(text, verdict);
    return verdict;
  }

  return {
    resolveDestination: async (text) => {
      const verdict = vet(text);
      if (!verdict.ok) return { kind: 'refused', reason: verdict.reason };
      const { url, host, literal, extra } = verdict;

      let addresses = [host];
      if (!literal) {
        try {
          addresses = await (extra ? resolveExtra : resolvePublic)(host);
        } catch (error) {
          return { kind: 'unresolved', reason: error instanceof Error ? error.message : String(error) };
        }
      }
      const refusal = extra ? undefined : findRefusal(addresses);
      if (refusal !== undefined) return { kind: 'refused', reason: refusal };
      return { kind: 'allowed', destination: { url, addresses } };
    },
  };
}

/** The range is told, the address is not: a tenant must not learn how names resolve inside our network. */
function findRefusal(addresses: readonly string[]): string | undefined {
  const bad = addresses.map(classifyAddress).find(({ global }) => !global);
  return bad === undefined ? undefined : `it leads to an address that is not public (${bad.range})`;
}

/**
 * Refuses a webhook URL at accept. Throws `VALIDATION_FAILED` whose details name `path`, for example `webhook.url`. A
 * name that does not resolve is let through: the receiver may be set up later (design "Webhooks").
 */
export async function requireDestination(guard: Guard, url: string, path: string): Promise<void> {
  const verdict = await guard.resolveDestination(url);
  if (verdict.kind !== 'refused') return;
  throw invalid([{ path, message: `${path} must be a public https destination: ${verdict.reason}` }]);
}
