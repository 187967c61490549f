import { fillText, fillUrl, type TemplateValues } from '../../profile/template.ts';
import type { HttpRequest } from '../exchange.ts';
import type { HttpProfile, HttpSecret, JsonTemplate } from './profile.ts';

/** What asks the question. `apiKey` is the value of the profile's secret, null where it has none. */
export function buildRequest(
  { method, url, headers, body, secret }: HttpProfile['go'],
  values: TemplateValues,
  apiKey: string | null,
): HttpRequest {
  const target = new URL(fillUrl(url, values));
  const sent: Record<string, string> = { accept: 'application/json' };
  for (const [name, template] of Object.entries(headers)) {
    const value = fillText(template, values);
    if (value !== null) sent[name.toLowerCase()] = toHeaderValue(value);
  }
  if (secret !== undefined && apiKey !== null) addSecret(secret, apiKey, sent, target);
  if (body === undefined) return { method, url: target.href, headers: sent };
  sent['content-type'] ??= 'application/json';
  return { method, url: target.href, headers: sent, body: JSON.stringify(fillJson(body, values)) };
}

function addSecret(secret: HttpSecret, apiKey: string, headers: Record<string, string>, url: URL): void {
  const value = secret.prefix + apiKey;
  if ('header' in secret) headers[secret.header.toLowerCase()] = value;
  else url.searchParams.set(secret.parameter, value);
}

/** A question may hold line breaks and any script; a header may not, so it is encoded as in a URL where it must be. */
function toHeaderValue(value: string): string {
  return /^[\x20-\x7e]*$/.test(value) ? value : encodeURIComponent(value);
}

/** A value is put into the text it stands in, so it can't change the shape of the body, whatever it holds. */
function fillJson(template: JsonTemplate, values: TemplateValues): JsonTemplate | undefined {
  if (typeof template === 'string') return fillText(template, values) ?? undefined;
  if (template === null || typeof template !== 'object') return template;
  if (Array.isArray(template)) {
    return template.map((entry) => fillJson(entry, values)).filter((entry) => entry !== undefined);
  }
  const filled = Object.entries(template).flatMap(([name, entry]) => {
    const value = fillJson(entry, values);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(filled);
}
