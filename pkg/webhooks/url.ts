import { isIP } from 'node:net';

/** One `host:port` that the operator lists although it is not public. `host` is as `URL.hostname` spells it. */
export type ExtraDestination = { host: string; port: number };

export type UrlVerdict =
  | {
      ok: true;
      /** Without fragment and trailing dot: what is vetted, connected to and sent as Host is the same name. */
      url: URL;
      /** Name or address without brackets. */
      host: string;
      literal: boolean;
      /** The operator vouches for it: http and private addresses are fine. */
      extra: boolean;
    }
  | { ok: false; reason: string };

/** Names that mean something inside a network only; some resolvers answer them, others pass them to whoever asks. */
const INTERNAL_SUFFIXES = ['localhost', 'localdomain', 'local', 'internal', 'intranet', 'lan', 'svc', 'home.arpa'];

/**
 * Reads `WEBHOOK_EXTRA_DESTINATIONS`: comma-separated `host:port`, IPv6 in brackets. Throws a plain error that names
 * the entry it can't read.
 */
export function parseExtraDestinations(setting: string): ExtraDestination[] {
  return setting
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(parseExtraDestination);
}

function parseExtraDestination(entry: string): ExtraDestination {
  const port = Number(/:(\d{1,5})$/.exec(entry)?.[1] ?? Number.NaN);
  // Parsed as a URL so that the host is spelled here exactly as it will be in a webhook's URL.
  const url = URL.parse(`http://${entry}/`);
  const plain = url !== null && url.pathname === '/' && url.username === '' && url.search === '' && url.hash === '';
  if (!plain || !(port >= 1 && port <= 65_535)) throw new Error(`"${entry}" is not a destination like host:port`);
  return { host: withoutTrailingDot(url.hostname), port };
}

/**
 * The half of the destination check that needs no resolver: https on port 443 without credentials, and a host that
 * could be public. Refuses nothing that only a lookup can tell (design "Webhooks").
 */
export function vetUrl(text: string, extras: readonly ExtraDestination[]): UrlVerdict {
  const url = URL.parse(text);
  if (url === null) return refuse('it is not an absolute URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuse('it must be an https URL');
  if (url.username !== '' || url.password !== '') return refuse('it must not hold a user name or password');

  const hostname = withoutTrailingDot(url.hostname);
  if (hostname === '' || hostname.endsWith('.')) return refuse('its host is not a valid name');
  // Only where there is something to change: each of these parses the URL once more.
  if (url.hash !== '') url.hash = '';
  if (url.hostname !== hostname) url.hostname = hostname;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const host = hostname.replace(/^\[|\]$/g, '');
  const literal = isIP(host) !== 0;
  if (extras.some((extra) => extra.host === hostname && extra.port === port)) {
    return { ok: true, url, host, literal, extra: true };
  }
  if (url.protocol !== 'https:') return refuse('it must be an https URL');
  if (port !== 443) return refuse('it must use port 443');
  if (!literal && isInternalName(host)) return refuse('its host is not a public name');
  return { ok: true, url, host, literal, extra: false };
}

function isInternalName(name: string): boolean {
  if (!name.includes('.')) return true;
  return INTERNAL_SUFFIXES.some((suffix) => name.endsWith(`.${suffix}`) || name === suffix);
}

function withoutTrailingDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

function refuse(reason: string): UrlVerdict {
  return { ok: false, reason };
}
