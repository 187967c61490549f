import { DeadlineError, type Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { BrowserPool, PageLease } from '../browser/pool.ts';
import type { Driver } from '../driver.ts';
import { createEgress, type EgressOptions, type EgressRoute } from '../egress/egress.ts';
import type { Refusal } from '../egress/guard.ts';
import type { CaptureResult, CaptureTask } from '../outcome.ts';
import { loadPageScript } from '../page/script.ts';
import { splitByFrame } from '../profile/parts.ts';
import type { Profile } from '../profile/profile.ts';
import { fillText } from '../profile/template.ts';
import { addCountry } from './egress.ts';
import { endVisit, runVisit } from './browser/flow.ts';
import { watchInterruptions } from './browser/interruptions.ts';
import { toRecipe } from './browser/recipe.ts';
import { explain, type CaptureObserver, type Visit } from './browser/visit.ts';

/** What is kept back from the deadline to read the text that stands there, at most. */
const READING_RESERVE_MS = 2_000;

export type BrowserDriverOptions = {
  profile: Profile;
  pool: BrowserPool;
  /** The values that the profile takes from the environment. Default: none, for a profile that names none. */
  secrets?: ReadonlyMap<string, string>;
  /** Where the pages may go, beside the host that the profile starts at. */
  egress?: EgressOptions;
  /** Default false: beside the proof of a capture, a PNG of the page as it was read. */
  picture?: boolean;
  observer?: CaptureObserver;
  clock: Clock;
  log: Logger;
};

/**
 * Captures with a real browser, told by a profile how. Its pages reach the network through its own egress guard only.
 * The pool is the caller's: `close` ends this driver's captures and its guard.
 */
export function createBrowserDriver(options: BrowserDriverOptions): Driver {
  const { profile, picture = false, pool, egress: allowed, secrets = new Map(), observer, clock, log } = options;
  const parts = splitByFrame(profile);
  const initScript = loadPageScript();
  const egress = createEgress(profile.go.url, allowed ?? {}, log);
  const closing = new AbortController();
  const running = new Set<Promise<CaptureResult>>();

  async function capture(task: CaptureTask, signal: AbortSignal): Promise<CaptureResult> {
    const startMs = clock.nowMs();
    const reserveMs = Math.min(READING_RESERVE_MS, task.timeoutMs / 10);
    const interruptions = watchInterruptions(task.timeoutMs, AbortSignal.any([signal, closing.signal]));
    const leasing = leasePage(task, interruptions.signal);
    try {
      const leased = await interruptions.orEnd(leasing);
      if ('outcome' in leased) return leased;
      const { lease, route } = leased;
      interruptions.watchPage(lease.page);
      const visit: Visit = {
        page: lease.page,
        profile,
        parts,
        task,
        wantsPicture: picture && task.wantsProof,
        values: { query: task.query, ...task.region },
        secrets,
        observer,
        clock,
        log,
        answerByMs: startMs + task.timeoutMs - reserveMs,
        warmNext: () => lease.warmNext(),
        isAsking: false,
        askedAtMs: null,
        ignoredConsent: [],
        signals: [],
      };
      const result = await interruptions.orEnd(runVisit(visit));
      await endVisit(visit, result);
      return addRefusal(addCountry(result, route.country), egress.lastRefusal());
    } catch (error) {
      return describeBreak(error);
    } finally {
      interruptions.end();
      giveBack(leasing, log);
    }
  }

  async function leasePage(task: CaptureTask, signal: AbortSignal): Promise<Leased> {
    const route = await egress.routeFor(task.region?.country);
    const locale = fillText(profile.go.locale ?? '{language}', { query: task.query, ...task.region });
    const recipe = await toRecipe(task, locale, route, initScript);
    return { route, lease: await pool.lease(recipe, task.timeoutMs, signal) };
  }

  return {
    capture: async (task, signal) => {
      const work = capture(task, signal);
      running.add(work);
      try {
        return await work;
      } finally {
        running.delete(work);
      }
    },
    close: async () => {
      closing.abort();
      await Promise.all(running);
      await egress.close();
    },
  };
}

type Leased = { lease: PageLease; route: EgressRoute };

/** A tunnel that the guard did not open looks like a broken network to the browser: the reason is the guard's. */
function addRefusal(result: CaptureResult, refusal: Refusal | null): CaptureResult {
  if (refusal === null || result.outcome !== 'unusable' || !result.detail.includes('ERR_TUNNEL_CONNECTION_FAILED'))
    return result;
  const { host, port, reason } = refusal;
  return { ...result, detail: `${result.detail} (the lane's egress guard refused ${host}:${port}: ${reason})` };
}

/** Also a page that is opened too late for its capture must be closed. */
function giveBack(leasing: Promise<Leased>, log: Logger): void {
  leasing.then(
    ({ lease }) => lease.release(),
    (error: unknown) => log.debug({ err: error }, 'A capture got no page'),
  );
}

function describeBreak(error: unknown): CaptureResult {
  return error instanceof DeadlineError
    ? { outcome: 'timeout', detail: explain(error) }
    : { outcome: 'crashed', detail: `The browser broke: ${explain(error)}` };
}
