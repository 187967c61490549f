import { listRevokedKeys } from '../../accounts/index.ts';
import type { Sql } from '../../postgres/index.ts';
import { startLoop, withDeadline, type Clock } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { listManagedRuns } from '../../watches/index.ts';
import { formatKey, parseKey, type Key, type Trigger } from '../kube/index.ts';
import { managerOf } from './mirror.ts';

/** What happens to watches outside the cluster: their runs, their keys' revocation, and that Postgres goes and comes. */
export type WatchSignals = {
  trigger: Trigger;
  rememberKey(resource: Key, keyId: string | null): void;
  /** Why Postgres can't be asked, once that has lasted for the grace; the same words until it can. Null while it can. */
  databaseProblem(): string | null;
};

export type WatchSignalsDeps = {
  sql: Sql;
  /** All resources: each is woken when Postgres is given up, and when it is back. */
  listAll(): readonly Key[];
  /** How long Postgres may be away before statuses say so: a restart of it shall not rewrite them all twice. */
  databaseGraceMs: number;
  clock: Clock;
  log: Logger;
};

const POLL_MS = 5_000;
const LOOK_TIMEOUT_MS = 10_000;
const POLL_TIMEOUT_MS = 20_000;
/** Looked back further than the poll, so that what was committed late is seen too; what was seen is not told twice. */
const WINDOW_SECONDS = 120;

export function createWatchSignals(deps: WatchSignalsDeps): WatchSignals {
  const keyIds = new Map<string, string>();
  const prefix = managerOf({ namespace: '', name: '' });
  let awaySinceMs: number | null = null;
  let problem: string | null = null;

  function resourcesOf(revoked: ReadonlySet<string>): Key[] {
    return [...keyIds].filter(([, keyId]) => revoked.has(keyId)).map(([resource]) => parseKey(resource));
  }

  async function look(seen: ReadonlySet<string>, enqueue: (key: Key) => void): Promise<ReadonlySet<string>> {
    const runs = await listManagedRuns(deps.sql, WINDOW_SECONDS);
    const revoked = await listRevokedKeys(deps.sql, WINDOW_SECONDS);
    for (const { runId, managedBy } of runs) {
      if (!seen.has(runId) && managedBy.startsWith(prefix)) enqueue(parseKey(managedBy.slice(prefix.length)));
    }
    for (const key of resourcesOf(new Set(revoked.filter((keyId) => !seen.has(keyId))))) enqueue(key);
    return new Set([...runs.map(({ runId }) => runId), ...revoked]);
  }

  /** Wakes all resources when it is another answer than before whether Postgres can be asked. */
  function note(words: string | null, enqueue: (key: Key) => void): void {
    const nowMs = deps.clock.nowMs();
    awaySinceMs = words === null ? null : (awaySinceMs ?? nowMs);
    const before = problem;
    if (awaySinceMs === null) problem = null;
    else if (nowMs - awaySinceMs >= deps.databaseGraceMs) problem ??= words;
    if (problem !== before) for (const key of deps.listAll()) enqueue(key);
  }

  return {
    databaseProblem: () => problem,
    rememberKey: (resource, keyId) => {
      if (keyId === null) keyIds.delete(formatKey(resource));
      else keyIds.set(formatKey(resource), keyId);
    },
    trigger: (enqueue) => {
      let seen: ReadonlySet<string> = new Set();
      const loop = startLoop(
        { name: 'following watches', idleMs: POLL_MS, turnTimeoutMs: POLL_TIMEOUT_MS, log: deps.log },
        async () => {
          try {
            seen = await withDeadline(look(seen, enqueue), LOOK_TIMEOUT_MS, 'looking after watches');
          } catch (error) {
            note(error instanceof Error ? error.message : String(error), enqueue);
            throw error;
          }
          note(null, enqueue);
          return 'idle';
        },
      );
      return () => void loop.stop();
    },
  };
}
