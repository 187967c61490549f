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
    const target = url.searchParams.get(parameter);
    if (target !== null) return parseHttp(target, null);
  }
  return null;
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
