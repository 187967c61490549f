import { readDemand, readPods, type Demand, type KnownPod } from '../../lanes/index.ts';
import type { Surface } from '../../contract/index.ts';
import type { Sql } from '../../postgres/index.ts';
import { withDeadline, type Clock } from '../../runtime/index.ts';

/** What Postgres says of one surface. */
export type Look =
  | { demand: Demand; pods: ReadonlyMap<string, KnownPod>; problem: null }
  | { demand: null; pods: ReadonlyMap<string, KnownPod>; problem: string };

const LOOK_TIMEOUT_MS = 5_000;
/** Lanes that are due at about the same time share one count of what waits. */
const SHARED_MS = 500;
const NOTHING: Demand = { waiting: 0, running: 0 };

/** Looks at the demand of a surface and at the reports of its pods; a failure is an answer too, and is not zero. */
export function createLooker(deps: {
  sql: Sql;
  clock: Clock;
  soonSeconds: number;
}): (surface: Surface) => Promise<Look> {
  let shared: { atMs: number; demand: Promise<ReadonlyMap<Surface, Demand>> } | null = null;

  function readShared(): Promise<ReadonlyMap<Surface, Demand>> {
    const nowMs = deps.clock.nowMs();
    if (shared === null || nowMs - shared.atMs > SHARED_MS) {
      shared = { atMs: nowMs, demand: readDemand(deps.sql, deps.soonSeconds) };
    }
    return shared.demand;
  }

  return async (surface) => {
    try {
      const [demand, pods] = await withDeadline(
        Promise.all([readShared(), readPods(deps.sql, surface)]),
        LOOK_TIMEOUT_MS,
        'reading the demand',
      );
      return { demand: demand.get(surface) ?? NOTHING, pods, problem: null };
    } catch (error) {
      return { demand: null, pods: new Map(), problem: error instanceof Error ? error.message : String(error) };
    }
  };
}
