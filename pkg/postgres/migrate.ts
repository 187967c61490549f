import knex, { type Knex } from 'knex';
import { query } from './database.ts';
import * as foundation from './migrations/0001-foundation.ts';
import * as watches from './migrations/0002-watches.ts';
import * as deliveryLog from './migrations/0003-delivery-log.ts';
import * as laneNotes from './migrations/0004-lane-notes.ts';
import * as lanePods from './migrations/0005-lane-pods.ts';
import * as laneRefusals from './migrations/0006-lane-refusals.ts';
import * as deliveryClaims from './migrations/0007-delivery-claims.ts';
import * as deliveryQueue from './migrations/0008-delivery-queue.ts';
import * as deliveryLines from './migrations/0009-delivery-lines.ts';
import * as deliveryLists from './migrations/0010-delivery-lists.ts';

type Migration = { up: (sql: Knex) => Promise<void> };

/** In order. Names carry no file ending, so that TypeScript and built JavaScript agree on what has run. */
const MIGRATIONS: readonly { name: string; migration: Migration }[] = [
  { name: '0001-foundation', migration: foundation },
  { name: '0002-watches', migration: watches },
  { name: '0003-delivery-log', migration: deliveryLog },
  { name: '0004-lane-notes', migration: laneNotes },
  { name: '0005-lane-pods', migration: lanePods },
  { name: '0006-lane-refusals', migration: laneRefusals },
  { name: '0007-delivery-claims', migration: deliveryClaims },
  { name: '0008-delivery-queue', migration: deliveryQueue },
  { name: '0009-delivery-lines', migration: deliveryLines },
  { name: '0010-delivery-lists', migration: deliveryLists },
];

/** Any fixed number: it names the lock that only one migrating process holds. */
const MIGRATION_LOCK = 7_201_446;

/** Brings the schema up. Safe to call from several processes at once: the others wait, then find nothing to do. */
export async function migrate(url: string): Promise<{ applied: string[] }> {
  const pool = knex({ client: 'pg', connection: url, pool: { min: 0, max: 3 } });
  try {
    return await pool.transaction(async (lockHolder) => {
      // Held by this transaction: it goes with the connection, however the process ends.
      await lockHolder.raw('SELECT pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
      const config = {
        migrationSource: {
          getMigrations: () => Promise.resolve(MIGRATIONS.map(({ name }) => name)),
          getMigrationName: (name: string) => name,
          getMigration: (name: string) => Promise.resolve({ up: find(name).up, down: refuseDown }),
        },
        tableName: 'schema_migrations',
      };
      // Ours is the real lock. Knex's own is a row that a killed migrator leaves behind.
      await pool.migrate.forceFreeMigrationsLock(config);
      const done = await listApplied(pool);
      await pool.migrate.latest(config);
      return { applied: (await listApplied(pool)).filter((name) => !done.includes(name)) };
    });
  } finally {
    await pool.destroy();
  }
}

function find(wanted: string): Migration {
  const found = MIGRATIONS.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no migration is named ${wanted}`);
  return found.migration;
}

function refuseDown(): Promise<void> {
  return Promise.reject(new Error('migrations only go up: write the next one'));
}

async function listApplied(sql: Knex): Promise<string[]> {
  const table = await query<{ present: boolean }>(
    sql,
    `SELECT to_regclass('schema_migrations') IS NOT NULL AS present`,
  );
  if (table[0]?.present !== true) return [];
  const rows = await query<{ name: string }>(sql, 'SELECT name FROM schema_migrations ORDER BY id');
  return rows.map(({ name }) => name);
}

/** Throws unless every one of this program's migrations has run: a process must not meet a schema it does not know. */
export async function checkSchema(sql: Knex): Promise<void> {
  const done = await listApplied(sql);
  const missing = MIGRATIONS.filter(({ name }) => !done.includes(name));
  if (missing.length > 0) {
    throw new Error(`The schema lacks ${missing.map(({ name }) => name).join(', ')}. Run the migrate command first.`);
  }
}
