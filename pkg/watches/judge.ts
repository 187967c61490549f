import type { Surface, WatchRunStatus } from '../contract/index.ts';
import { measureSearch, type LaneFacts } from '../searches/index.ts';
import type { DueWatch } from './due.ts';

/** How the account stands at the moment of the dispatch, and what its plan allows. */
export type Standing = {
  availableCredits: number;
  queued: number;
  queueCeiling: number;
};

export type Facts = {
  lanes: ReadonlyMap<Surface, LaneFacts>;
  priceOf: (surface: Surface) => number;
  /** False when deliveries could not be signed (spec 6.6). */
  canSign: boolean;
};

/** What becomes of a tick, in words for the owner of the watch. */
export type RunVerdict = { watch: DueWatch; status: WatchRunStatus; detail: string };

/**
 * Decides due watches one after the other, each with what those before it left: as if every one were a submit of its
 * own, so that an expensive one that must be skipped does not take a cheap one along (spec 3.3).
 */
export function judgeRuns(due: readonly DueWatch[], standing: Standing, facts: Facts): RunVerdict[] {
  let { availableCredits, queued } = standing;
  return due.map((watch): RunVerdict => {
    const problem = findProblem(watch, facts);
    if (problem !== null) return { watch, status: 'failed', detail: problem };
    const { captures, credits } = measureSearch(watch, watch.metered ? facts.priceOf : () => 0);
    if (credits > availableCredits)
      return {
        watch,
        status: 'skipped_credits',
        detail: `This run needs ${credits} credits; ${availableCredits} were available.`,
      };
    if (queued + captures > standing.queueCeiling)
      return {
        watch,
        status: 'skipped_limit',
        detail: `${queued} captures were waiting; with ${captures} more the plan's ceiling of ${standing.queueCeiling} would have been exceeded.`,
      };
    availableCredits -= credits;
    queued += captures;
    const cost = credits === 0 ? '' : ` for ${credits} credits`;
    return { watch, status: 'dispatched', detail: `Started ${count(captures, 'capture')}${cost}.` };
  });
}

/** What keeps the search from being submitted at all, however many credits there are. */
function findProblem(watch: DueWatch, { lanes, canSign }: Facts): string | null {
  const dead = watch.surfaces.filter((surface) => lanes.get(surface)?.live !== true);
  if (dead.length > 0) return `${dead.join(', ')} had no live capture path.`;
  if (watch.webhookUrl !== null && !canSign)
    return "The account's signing secret could not be resolved, so its webhooks could not be signed.";
  return null;
}

export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
