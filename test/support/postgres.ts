import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { startPostgres } from '../../cmd/standalone/servers/postgres.ts';
import { migrate, openDatabase } from '../../pkg/postgres/index.ts';
import type { TestDatabase } from './database.ts';
import { until } from './poll.ts';

export type OwnPostgres = {
  database: TestDatabase;
  /** Takes it away without notice, and brings it back at the same address. */
  kill9(): Promise<void>;
  restart(): Promise<void>;
  close(): Promise<void>;
};

/** A migrated Postgres of one test that takes it away. Durable, as what it has confirmed must be there afterwards. */
export async function openOwnPostgres(): Promise<OwnPostgres> {
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-postgres-'));
  // As root, Postgres runs as another user, who must be let through.
  await chmod(dir, 0o755);
  const guard = startGuard();
  const port = await findFreePort();
  const start = () =>
    startPostgres({
      dataDir: join(dir, 'data'),
      logFile: join(dir, 'postgres.log'),
      port,
      password: 'test',
      durable: true,
      guard,
    });
  let server = await start();
  const { url } = server;
  await migrate(url);
  const db = openDatabase({ url, poolSize: 10, applicationName: 'test' });
  return {
    database: { db, url, close: () => db.close() },
    kill9: () => server.kill9(),
    restart: async () => {
      // No farewell to the clients: that is what a failing machine does.
      await server.kill9();
      server = await until(() => start().catch(ignoreLingering), {
        timeoutMs: 15_000,
        what: 'the sessions of the killed server end',
      });
    },
    close: async () => {
      await db.close();
      await server.stop();
      await guard.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The sessions of a killed server outlive it for a moment, and none starts on its data before they have ended. */
function ignoreLingering(error: unknown): undefined {
  if (!String(error).includes('pre-existing shared memory block')) throw error;
}
