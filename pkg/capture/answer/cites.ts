import { SOURCE_ROLES, type SourceRole } from '../../contract/index.ts';
import { resolveUrl, type LinkRules } from './links.ts';
import type { Cite } from './tree.ts';

/** One entry of a source list that stands beside the answer; `ref` is the name by which chips refer to it. */
export type ListedSource = { url: string; title: string; role: SourceRole; ref?: string };

export type CiteFinder = ReturnType<typeof createCiteFinder>;

/** Turns what links and marks say into citations with real URLs. Entries without a usable URL count as not listed. */
export function createCiteFinder(options: {
  baseUrl: string | null;
  listed: readonly ListedSource[];
  links?: LinkRules | undefined;
}) {
  const { baseUrl, links } = options;
  const listed: Cite[] = [];
  const byRef = new Map<string, Cite>();
  for (const { url, title, role, ref } of options.listed) {
    const resolved = resolveUrl(url, baseUrl, links);
    if (resolved === null) continue;
    const cite = { url: resolved, title, role };
    listed.push(cite);
    if (ref !== undefined && !byRef.has(ref)) byRef.set(ref, cite);
  }

  function ofUrl(href: string | undefined, title: string, role: SourceRole): Cite | null {
    const url = href === undefined ? null : resolveUrl(href, baseUrl, links);
    return url === null ? null : { url, title, role };
  }

  return {
    listed,
    ofUrl,
    /** New occurrences of the listed entries that `ref` names: one, or several as in `1, 3`. */
    ofRefs(ref: string | undefined, title: string, role: SourceRole): Cite[] {
      const whole = byRef.get(ref ?? '');
      if (whole !== undefined) return [{ url: whole.url, title: title || whole.title, role }];
      const names = (ref ?? '').split(/[\s,;]+/).map((name) => byRef.get(name));
      return names.flatMap((entry) => (entry === undefined ? [] : [{ url: entry.url, title: entry.title, role }]));
    },
  };
}

export function toRole(name: string): SourceRole {
  return SOURCE_ROLES.find((role) => role === name) ?? 'citation';
}
