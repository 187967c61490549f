import type { Page, Route } from 'playwright-core';
import { pause } from '../../../runtime/index.ts';
import type { CaptureResult } from '../../outcome.ts';
import { beginCollecting } from '../../page/script.ts';
import { globToRegExp } from '../../profile/glob.ts';
import type { FromEnv, Profile } from '../../profile/profile.ts';
import { fillJson, fillText, fillUrl, type TemplateValues } from '../../profile/template.ts';
import { isOfMachine } from './failures.ts';
import { refuse } from './results.ts';
import { explain, leftMs, type Visit } from './visit.ts';

/** Of opening the page, where the machine's own network was in the way. */
const MOST_TRIES = 3;
const TRY_AGAIN_MS = 200;

/** Goes where the profile says. Returns a result only where there is no page to look at. */
export async function openPage(visit: Visit): Promise<CaptureResult | null> {
  const { page, profile, values } = visit;
  const url = fillUrl(profile.go.url, values);
  await prepareFetches(page, profile.fetch);
  await prepareRequest(visit, url);
  const collecting = visit.parts.map(({ part }) => part).filter(({ read }) => read.fanOut ?? read.webSearch);
  if (collecting.length > 0) await page.addInitScript({ content: beginCollecting(collecting) });
  for (let tries = 1; ; tries += 1) {
    try {
      // The rest of the load is waited for inside the page: an answer may stream into the document itself.
      await page.goto(url, { waitUntil: 'commit', timeout: Math.max(1, leftMs(visit)) });
      return null;
    } catch (error) {
      if (page.isClosed()) throw error;
      if (leftMs(visit) === 0) return { outcome: 'timeout', detail: 'The page did not answer before the deadline.' };
      const reason = explain(error);
      // The browser's own page for the failure may come up late, into the next try.
      const isPassing = isOfMachine(reason) || (tries > 1 && reason.includes('chrome-error:'));
      // What a form sends is sent once: nobody knows whether it arrived.
      if (isPassing && tries < MOST_TRIES && profile.go.method !== 'POST') {
        await pause(Math.min(TRY_AGAIN_MS, leftMs(visit)));
        continue;
      }
      return await refuse(visit, 'unusable', `The page could not be opened: ${explainOpening(error)}`);
    }
  }
}

/** The reason alone: tenants read it, and the call and the address are the operator's. */
function explainOpening(error: unknown): string {
  return explain(error)
    .replace(/^page\.goto: /, '')
    .replace(/ at \S+$/, '');
}

/** Interception costs a round trip for every request, so it is on only where the profile asks for it. */
async function prepareFetches(page: Page, rules: Profile['fetch']): Promise<void> {
  const { abortTypes = [], abortUrls = [], allowUrls = [] } = rules ?? {};
  if (abortTypes.length + abortUrls.length + allowUrls.length === 0) return;
  const types = new Set<string>(abortTypes);
  const aborted = abortUrls.map(globToRegExp);
  const allowed = allowUrls.map(globToRegExp);
  await page.route('**/*', (route) => {
    const request = route.request();
    const url = request.url();
    const isPage = request.isNavigationRequest() && request.frame() === page.mainFrame();
    const mayLoad = allowed.length === 0 || isPage || allowed.some((pattern) => pattern.test(url));
    const isAborted = types.has(request.resourceType()) || aborted.some((pattern) => pattern.test(url));
    return mayLoad && !isAborted ? route.fallback() : route.abort();
  });
}

async function prepareRequest({ page, profile, values, secrets }: Visit, url: string): Promise<void> {
  const { go } = profile;
  const open: Record<string, string> = {};
  const secret: Record<string, string> = {};
  for (const [name, given] of Object.entries(go.headers ?? {})) {
    const value = valueOf(given, values, secrets)?.replace(/[\r\n]+/g, ' ');
    if (value !== undefined) (typeof given === 'string' ? open : secret)[name] = value;
  }
  if (Object.keys(open).length > 0) await page.setExtraHTTPHeaders(open);
  if (Object.keys(secret).length > 0) {
    const { origin } = new URL(url);
    await page.route(
      (target) => target.origin === origin,
      (route) => route.fallback({ headers: { ...route.request().headers(), ...secret } }),
    );
  }
  const cookies = (go.cookies ?? []).flatMap(({ name, value: given, domain, path = '/' }) => {
    const value = valueOf(given, values, secrets);
    if (value === undefined) return [];
    return [{ name, value, ...(domain === undefined ? { url: new URL(path, url).href } : { domain, path }) }];
  });
  if (cookies.length > 0) await page.context().addCookies(cookies);
  if (go.method === 'POST') await page.route('**/*', postOnce(page, bodyOf(go, values)));
}

function valueOf(
  given: string | FromEnv,
  values: TemplateValues,
  secrets: ReadonlyMap<string, string>,
): string | undefined {
  return typeof given === 'string' ? (fillText(given, values) ?? undefined) : secrets.get(given.env);
}

type Body = { contentType: string; text: string };

function bodyOf({ form = {}, json }: Profile['go'], values: TemplateValues): Body {
  if (json !== undefined) return { contentType: 'application/json', text: JSON.stringify(fillJson(json, values)) };
  const fields = Object.entries(form).flatMap(([name, template]): [string, string][] => {
    const value = fillText(template, values);
    return value === null ? [] : [[name, value]];
  });
  return { contentType: 'application/x-www-form-urlencoded', text: new URLSearchParams(fields).toString() };
}

/** A browser opens pages by GET only: the first request is turned into what the engine wants. */
function postOnce(page: Page, { contentType, text }: Body): (route: Route) => Promise<void> {
  let sent = false;
  return (route) => {
    const request = route.request();
    if (sent || !request.isNavigationRequest() || request.frame() !== page.mainFrame()) return route.fallback();
    sent = true;
    const headers = { ...request.headers(), 'content-type': contentType };
    return route.fallback({ method: 'POST', postData: text, headers });
  };
}
