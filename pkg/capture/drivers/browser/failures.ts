import type { Page, Request } from 'playwright-core';

/** Enough to see what a page lacks; one without a network fails hundreds of times. */
const MOST_NOTED = 10;
/** What a profile aborts, and what a page itself no longer wants. */
const MEANT = /ERR_BLOCKED_BY_CLIENT|ERR_ABORTED|ERR_FAILED$/;
const OF_MACHINE = /ERR_NETWORK_CHANGED|ERR_INTERNET_DISCONNECTED|ERR_NETWORK_IO_SUSPENDED/;

/** The machine's own doing, such as a network interface that came or went. Another attempt goes better. */
export function isOfMachine(reason: string): boolean {
  return OF_MACHINE.test(reason);
}

export type Failures = {
  /** Whether the machine's own network was in the way of any request. */
  wereOfMachine(): boolean;
};

/** Tells `note` which requests of the page came to nothing: an answer that never comes often has its reason there. */
export function followFailures(page: Page, note: (name: string) => void): Failures {
  let left = MOST_NOTED;
  let ofMachine = false;
  const tell = (request: Request, reason: string): void => {
    if (left === 0) return;
    left -= 1;
    note(`request failed: ${placeOf(request.url())} (${reason})`);
  };
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? 'no reason';
    ofMachine ||= isOfMachine(reason);
    if (!MEANT.test(reason)) tell(request, reason);
  });
  page.on('response', (response) => {
    if (response.status() >= 500) tell(response.request(), String(response.status()));
  });
  return { wereOfMachine: () => ofMachine };
}

/** Without what the URL asks for: it may hold the question, or a secret, and this goes into a log. */
function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null || parsed.origin === 'null' ? 'a URL without a host' : parsed.origin + parsed.pathname;
}
