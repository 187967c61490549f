import type { BrowserContextOptions } from 'playwright-core';
import { DeadlineError, type Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { BrowserPool, PageLease, PageRecipe } from '../browser/pool.ts';
import type { Driver } from '../driver.ts';
import type { CaptureResult, CaptureTask } from '../outcome.ts';
import { loadPageScript } from '../page/script.ts';
import { splitByFrame } from '../profile/parts.ts';
import type { Profile } from '../profile/profile.ts';
import { fillText } from '../profile/template.ts';
import { runVisit } from './browser/flow.ts';
import { watchInterruptions } from './browser/interruptions.ts';
import { explain, type CaptureObserver, type Visit } from './browser/visit.ts';

/** What is kept back from the deadline to read the text that stands there, at most. */
const READING_RESERVE_MS = 2_000;

export type BrowserDriverOptions = {
  profile: Profile;
  pool: BrowserPool;
  /** The values that the profile takes from the environment. Default: none, for a profile that names none. */
  secrets?: ReadonlyMap<string, string>;
  observer?: CaptureObserver;
  clock: Clock;
  log: Logger;
};

/** Captures with a real browser, told by a profile how. The pool is the caller's: `close` ends this driver's captures only. */
export function createBrowserDriver(options: BrowserDriverOptions): Driver {
  const { profile, pool, secrets = new Map(), observer, clock, log } = options;
  const parts = splitByFrame(profile);
  const initScript = loadPageScript();
  const closing = new AbortController();
  const running = new Set<Promise<CaptureResult>>();

  async function capture(task: CaptureTask, signal: AbortSignal): Promise<CaptureResult> {
    const startMs = clock.nowMs();
    const reserveMs = Math.min(READING_RESERVE_MS, task.timeoutMs / 10);
    const interruptions = watchInterruptions(task.timeoutMs, AbortSignal.any([signal, closing.signal]));
    const leasing = pool.lease(toRecipe(profile, task, initScript), task.timeoutMs, interruptions.signal);
    try {
      const lease = await interruptions.orEnd(leasing);
      if ('outcome' in lease) return lease;
      interruptions.watchPage(lease.page);
      const visit: Visit = {
        page: lease.page,
        profile,
        parts,
        task,
        values: { query: task.query, ...task.region },
        secrets,
        observer,
        clock,
        log,
        answerByMs: startMs + task.timeoutMs - reserveMs,
        warmNext: () => lease.warmNext(),
        askedAtMs: null,
        ignoredConsent: [],
        signals: [],
      };
      return await interruptions.orEnd(runVisit(visit));
    } catch (error) {
      return describeBreak(error);
    } finally {
      interruptions.end();
      giveBack(leasing, log);
    }
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
    },
  };
}

/** Contexts differ in their language only, so that a prepared page fits most captures. */
function toRecipe({ go }: Profile, { query, region }: CaptureTask, initScript: string): PageRecipe {
  const locale = fillText(go.locale ?? '{language}', { query, ...region });
  const options: BrowserContextOptions = locale === null ? {} : { locale };
  return { key: locale ?? '', options, initScript };
}

/** Also a page that is opened too late for its capture must be closed. */
function giveBack(leasing: Promise<PageLease>, log: Logger): void {
  leasing.then(
    (lease) => lease.release(),
    (error: unknown) => log.debug({ err: error }, 'A capture got no page'),
  );
}

function describeBreak(error: unknown): CaptureResult {
  return error instanceof DeadlineError
    ? { outcome: 'timeout', detail: explain(error) }
    : { outcome: 'crashed', detail: `The browser broke: ${explain(error)}` };
}
