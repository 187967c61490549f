/** What a template's placeholders stand for. A value that is missing is not known or was not asked for. */
export type TemplateValues = Partial<Record<Placeholder, string>>;

export const PLACEHOLDERS = ['query', 'language', 'country', 'state', 'city'] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

const PLACEHOLDER = /\{(\w+)\}/g;

/** Names in braces, placeholders or not. */
export function findPlaceholders(template: string): string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
}

/** Names in braces that are no placeholder. */
export function findUnknownPlaceholders(template: string): string[] {
  return findPlaceholders(template).filter((name) => !PLACEHOLDERS.some((known) => known === name));
}

/** Fills a text. Null when a placeholder in it has no value. */
export function fillText(template: string, values: TemplateValues): string | null {
  return fill(template, values, (value) => value);
}

/** Fills a URL: values are percent-encoded, and a parameter or path segment without its value is dropped. */
export function fillUrl(template: string, values: TemplateValues): string {
  const [, beforeQuery = '', query, fragment] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(template) ?? [];
  const path = fillParts(beforeQuery, '/', values);
  const parameters = query === undefined ? '' : fillParts(query, '&', values);
  const place = fragment === undefined ? '' : fillParts(fragment, '&', values);
  return `${path}${parameters === '' ? '' : `?${parameters}`}${place === '' ? '' : `#${place}`}`;
}

/** Fills every text in a piece of JSON; what holds a placeholder without a value is left out. */
export function fillJson(template: unknown, values: TemplateValues): unknown {
  if (typeof template === 'string') return fillText(template, values) ?? undefined;
  if (Array.isArray(template))
    return template.map((entry) => fillJson(entry, values)).filter((entry) => entry !== undefined);
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(
    Object.entries(template)
      .map(([name, entry]) => [name, fillJson(entry, values)])
      .filter(([, entry]) => entry !== undefined),
  );
}

function fillParts(template: string, separator: string, values: TemplateValues): string {
  return template
    .split(separator)
    .map((part) => fill(part, values, encodeURIComponent))
    .filter((part) => part !== null)
    .join(separator);
}

function fill(template: string, values: TemplateValues, encode: (value: string) => string): string | null {
  const valueOf = (name: string): string | undefined => {
    const known = PLACEHOLDERS.find((placeholder) => placeholder === name);
    return known === undefined ? undefined : values[known];
  };
  const names = findPlaceholders(template);
  if (names.some((name) => valueOf(name) === undefined)) return null;
  return template.replace(PLACEHOLDER, (_, name: string) => encode(valueOf(name) ?? ''));
}
