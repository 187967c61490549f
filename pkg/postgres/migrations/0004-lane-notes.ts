import type { Knex } from 'knex';

/** A lane that works may still have something to tell its operator: a missing sandbox, a pod too small for its pages. */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(`ALTER TABLE lanes ADD COLUMN notes text[] NOT NULL DEFAULT '{}'`);
}
