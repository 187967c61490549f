import { isIP } from 'node:net';
import { getDomain } from 'tldts';

/** One entry of a lane's allow-list: a host, or the hosts below it, at one port or at any. */
export type HostRule = { host: string; below: boolean; port: number | null };

export type HostVerdict = 'refused' | 'public' | 'anywhere';

const NAME = /^(?=.{1,253}$)[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Reads `engine.example`, `*.engine.example` (what is below it), `*` (every public host), each with `:port` where only
 * that port is meant. Throws when the text is none of these.
 */
export function parseHostRule(text: string): HostRule {
  if (text === '*') return { host: '', below: true, port: null };
  const [, wildcard, bracketed, plain, port] =
    /^(\*\.)?(?:\[([0-9a-f:.]+)\]|([^:[\]/]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = (bracketed ?? plain ?? '').toLowerCase();
  const portNumber = port === undefined ? null : Number(port);
  const isHost = bracketed === undefined ? NAME.test(host) : isIP(host) === 6 && wildcard === undefined;
  if (!isHost || portNumber === 0 || (portNumber ?? 0) > 65_535)
    throw new Error(`"${text}" must be a host like engine.example, *.engine.example, * or 10.0.0.7:8080`);
  return { host, below: wildcard !== undefined, port: portNumber };
}

/**
 * What a profile's start address needs: the registrable domain with all below it. An address that names its port, an
 * IP address and a name without a dot are taken as they are written: whoever wrote that meant just this host.
 */
export function deriveRules(startUrl: string): HostRule[] {
  const url = new URL(startUrl.replace(/\{\w+\}/g, 'x'));
  const host = bareHost(url.hostname);
  const domain = getDomain(host, { allowPrivateDomains: true });
  const rules: HostRule[] = [];
  if (domain !== null)
    rules.push({ host: domain, below: false, port: null }, { host: domain, below: true, port: null });
  if (url.port !== '' || domain === null)
    rules.push({
      host,
      below: false,
      port: url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? null) : Number(url.port),
    });
  return rules;
}

/**
 * Whether a lane may go there. `anywhere` is for a host that the lane names with its port: only then may it lead
 * inside the network; every other name must lead to public addresses.
 */
export function judgeHost(rules: readonly HostRule[], hostname: string, port: number): HostVerdict {
  const host = bareHost(hostname);
  const matching = rules.filter((rule) => covers(rule, host) && (rule.port === null || rule.port === port));
  if (matching.length === 0) return 'refused';
  return matching.some((rule) => rule.port !== null && !rule.below) ? 'anywhere' : 'public';
}

function covers(rule: HostRule, host: string): boolean {
  if (!rule.below) return rule.host === host;
  return rule.host === '' || host.endsWith(`.${rule.host}`);
}

/** Without brackets, the root's dot and capitals. */
export function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}
