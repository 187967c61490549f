import { fillJson, fillText, fillUrl, type TemplateValues } from '../../profile/template.ts';
import type { HttpRequest } from '../exchange.ts';
import type { HttpProfile, HttpSecret } from './profile.ts';

/** What asks the question. `apiKey` is the value of the profile's secret, null where it has none. */
export function buildRequest(
  { method, url, headers, form, json, secret }: HttpProfile['go'],
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
  const request = { method, url: target.href, headers: sent };
  if (json !== undefined) {
    sent['content-type'] ??= 'application/json';
    // A value is put into the text it stands in, so it can't change the shape of the body, whatever it holds.
    return { ...request, body: JSON.stringify(fillJson(json, values)) };
  }
  if (form === undefined) return request;
  sent['content-type'] ??= 'application/x-www-form-urlencoded';
  return { ...request, body: fillForm(form, values) };
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

function fillForm(form: Record<string, string>, values: TemplateValues): string {
  const filled = new URLSearchParams();
  for (const [name, template] of Object.entries(form)) {
    const value = fillText(template, values);
    if (value !== null) filled.set(name, value);
  }
  return filled.toString();
}
