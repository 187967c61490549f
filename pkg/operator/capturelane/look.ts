import { readDemand, readLanes, readPods, type Demand, type KnownPod } from '../../lanes/index.ts';
import type { Surface } from '../../contract/index.ts';
import type { Sql } from '../../postgres/index.ts';
import { withDeadline, type Clock } from '../../runtime/index.ts';

/** What Postgres says of one surface. `notes` is what its pods want their operator to know although they work. */
export type Look = { pods: ReadonlyMap<string, KnownPod>; notes: readonly string[] } & (
  { demand: Demand; problem: null } | { demand: null; problem: string }
);

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
  const readAll = () => Promise.all([readDemand(deps.sql, deps.soonSeconds), readLanes(deps.sql)]);
  let shared: { atMs: number; all: ReturnType<typeof readAll> } | null = null;

  function readShared(): ReturnType<typeof readAll> {
    const nowMs = deps.clock.nowMs();
    if (shared === null || nowMs - shared.atMs > SHARED_MS) shared = { atMs: nowMs, all: readAll() };
    return shared.all;
  }

  return async (surface) => {
    try {
      const [[demand, lanes], pods] = await withDeadline(
        Promise.all([readShared(), readPods(deps.sql, surface)]),
        LOOK_TIMEOUT_MS,
        'reading the demand',
      );
      const notes = lanes.get(surface)?.notes ?? [];
      return { demand: demand.get(surface) ?? NOTHING, pods, notes, problem: null };
    } catch (error) {
      return {
        demand: null,
        pods: new Map(),
        notes: [],
        problem: error instanceof Error ? error.message : String(error),
      };
    }
  };
}
