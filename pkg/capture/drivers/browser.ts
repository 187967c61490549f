import type { BrowserContextOptions } from 'playwright-core';
import { DeadlineError, type Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { BrowserPool, PageLease, PageRecipe } from '../browser/pool.ts';
import type { Driver } from '../driver.ts';
import type { CaptureResult, CaptureTask } from '../outcome.ts';
import { loadPageScript } from '../page/script.ts';
import type { Profile } from '../profile/profile.ts';
import { runVisit } from './browser/flow.ts';
import { watchInterruptions } from './browser/interruptions.ts';
import { explain, type Visit } from './browser/visit.ts';

/** What is kept back from the deadline to read the text that stands there, at most. */
const READING_RESERVE_MS = 2_000;

export type BrowserDriverOptions = { profile: Profile; pool: BrowserPool; clock: Clock; log: Logger };

/** Captures with a real browser, told by a profile how. The pool is the caller's: `close` ends this driver's captures only. */
export function createBrowserDriver({ profile, pool, clock, log }: BrowserDriverOptions): Driver {
  const initScript = loadPageScript();
  const closing = new AbortController();
  const running = new Set<Promise<CaptureResult>>();

  async function capture(task: CaptureTask, signal: AbortSignal): Promise<CaptureResult> {
    const startMs = clock.nowMs();
    const reserveMs = Math.min(READING_RESERVE_MS, task.timeoutMs / 10);
    const interruptions = watchInterruptions(task.timeoutMs, AbortSignal.any([signal, closing.signal]));
    const leasing = pool.lease(toRecipe(task, initScript), task.timeoutMs, interruptions.signal);
    try {
      const lease = await interruptions.orEnd(leasing);
      if ('outcome' in lease) return lease;
      interruptions.watchPage(lease.page);
      const visit: Visit = {
        page: lease.page,
        profile,
        task,
        values: { query: task.query, ...task.region },
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
function toRecipe({ region }: CaptureTask, initScript: string): PageRecipe {
  const language = region?.language;
  const options: BrowserContextOptions = language === undefined ? {} : { locale: language };
  return { key: language ?? '', options, initScript };
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
