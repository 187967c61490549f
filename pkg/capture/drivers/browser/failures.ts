import type { Page, Request } from 'playwright-core';

/** Enough to see what a page lacks; one without a network fails hundreds of times. */
const MOST_NOTED = 10;
const URL_LENGTH = 200;
/** What a profile aborts, and what a page itself no longer wants. */
const MEANT = /ERR_BLOCKED_BY_CLIENT|ERR_ABORTED|ERR_FAILED$/;

/** The machine's own doing, such as a network interface that came or went. Another attempt goes better. */
const OF_MACHINE = /ERR_NETWORK_CHANGED|ERR_INTERNET_DISCONNECTED|ERR_NETWORK_IO_SUSPENDED/;

export function isOfMachine(reason: string): boolean {
  return OF_MACHINE.test(reason);
}

/** Tells `note` which requests of the page came to nothing: an answer that never comes often has its reason there. */
export function followFailures(page: Page, note: (name: string) => void): void {
  let left = MOST_NOTED;
  const tell = (request: Request, reason: string): void => {
    if (left === 0) return;
    left -= 1;
    note(`request failed: ${request.url().slice(0, URL_LENGTH)} (${reason})`);
  };
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? 'no reason';
    if (!MEANT.test(reason)) tell(request, reason);
  });
  page.on('response', (response) => {
    if (response.status() >= 500) tell(response.request(), String(response.status()));
  });
}
