import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { openDatabase, type Database } from '../../pkg/postgres/index.ts';
import { TEMPLATE_DATABASE, withDatabaseName } from './database-names.ts';
import { readVariable } from './environment.ts';

export type TestDatabase = { db: Database; url: string; close(): Promise<void> };

/** A fresh database with the whole schema and no rows, for one test file or one test. */
export async function openTestDatabase(): Promise<TestDatabase> {
  const serverUrl = readVariable('TEST_DATABASE_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runStatement(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE}`);
  const url = withDatabaseName(serverUrl, name);
  const db = openDatabase({ url, poolSize: 10, applicationName: 'test' });
  return {
    db,
    url,
    close: async () => {
      await db.close();
      // FORCE: a process that a test killed may have left its connections.
      await runStatement(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 30_000 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
