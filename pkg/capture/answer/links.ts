import type { Profile } from '../profile/profile.ts';

export type LinkRules = NonNullable<Profile['links']>;

const MAX_UNWRAPS = 3;

/**
 * The absolute http(s) URL that a link leads to, or null when it leads to none (`javascript:`, `data:`, `mailto:`, a
 * place in the same page). Redirectors are unwrapped and tracking parameters removed as the profile says; the rest of
 * the URL stays as the page has it, fragment included.
 */
export function resolveUrl(href: string, baseUrl: string | null, rules: LinkRules = {}): string | null {
  const trimmed = href.trim();
  // A footnote mark or table of contents leads nowhere outside the answer.
  if (trimmed === '' || trimmed.startsWith('#')) return null;
  let url = parseHttp(trimmed, baseUrl);
  for (let count = 0; url !== null && count < MAX_UNWRAPS; count += 1) {
    const target = unwrap(url, rules);
    if (target === null) break;
    url = target;
  }
  if (url === null) return null;
  url.username = '';
  url.password = '';
  stripParameters(url, rules.strip ?? []);
  return url.href;
}

function parseHttp(href: string, baseUrl: string | null): URL | null {
  const base = baseUrl !== null && URL.canParse(baseUrl) ? baseUrl : undefined;
  if (!URL.canParse(href, base)) return null;
  const url = new URL(href, base);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : null;
}

function unwrap(url: URL, rules: LinkRules): URL | null {
  for (const { host, parameter } of rules.unwrap ?? []) {
    if (url.host !== host && url.hostname !== host && !url.hostname.endsWith(`.${host}`)) continue;
    const target = parameter === undefined ? findInPath(url) : readTarget(url.searchParams.get(parameter));
    if (target !== null) return target;
  }
  return null;
}

/** As it is, or in base64 behind a few characters of the engine's own. */
function readTarget(value: string | null): URL | null {
  if (value === null) return null;
  const encoded = /^.{0,8}?(aHR0c[\w+/-]+)=*$/.exec(value)?.[1];
  return parseHttp(encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8'), null);
}

/** `/go/https://a.example/b`, or percent-encoded as one of several segments: `/RU=https%3a%2f%2fa.example%2fb/RK=2`. */
function findInPath({ pathname, search }: URL): URL | null {
  const plain = /\/(https?:\/\/.+)$/i.exec(pathname)?.[1];
  if (plain !== undefined) return parseHttp(plain + search, null);
  const encoded = /https?%3a[^/]+/i.exec(pathname)?.[0];
  return encoded === undefined ? null : parseHttp(decode(encoded), null);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Works on the written query, because URLSearchParams would re-encode the parameters that stay. */
function stripParameters(url: URL, patterns: readonly string[]): void {
  if (patterns.length === 0 || url.search === '') return;
  const written = url.search.slice(1).split('&');
  const kept = written.filter((pair) => {
    const name = new URLSearchParams(pair).keys().next().value ?? '';
    return !patterns.some((pattern) => matchesName(pattern, name));
  });
  if (kept.length < written.length) url.search = kept.join('&');
}

function matchesName(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
