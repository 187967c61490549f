import { listRevokedKeys } from '../../accounts/index.ts';
import type { Sql } from '../../postgres/index.ts';
import { startLoop } from '../../runtime/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { listManagedRuns } from '../../watches/index.ts';
import { formatKey, parseKey, type Key, type Trigger } from '../kube/index.ts';
import { managerOf } from './mirror.ts';

/** What happens to watches outside the cluster: their runs, and their keys' revocation. */
export type WatchSignals = { trigger: Trigger; rememberKey(resource: Key, keyId: string | null): void };

const POLL_MS = 5_000;
const POLL_TIMEOUT_MS = 20_000;
/** Looked back further than the poll, so that what was committed late is seen too; what was seen is not told twice. */
const WINDOW_SECONDS = 120;

export function createWatchSignals(deps: { sql: Sql; log: Logger }): WatchSignals {
  const keyIds = new Map<string, string>();
  const prefix = managerOf({ namespace: '', name: '' });

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

  return {
    rememberKey: (resource, keyId) => {
      if (keyId === null) keyIds.delete(formatKey(resource));
      else keyIds.set(formatKey(resource), keyId);
    },
    trigger: (enqueue) => {
      let seen: ReadonlySet<string> = new Set();
      const loop = startLoop(
        { name: 'following watches', idleMs: POLL_MS, turnTimeoutMs: POLL_TIMEOUT_MS, log: deps.log },
        async () => {
          seen = await look(seen, enqueue);
          return 'idle';
        },
      );
      return () => void loop.stop();
    },
  };
}
