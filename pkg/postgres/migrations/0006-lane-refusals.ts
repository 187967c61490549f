import type { Knex } from 'knex';

/** What surfaces that refuse us have done lately, so that all pods of a lane hold back together. */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(`
CREATE TABLE lane_refusals (
  surface text PRIMARY KEY,
  -- Refusals since the surface last answered.
  in_row integer NOT NULL DEFAULT 0 CHECK (in_row >= 0),
  -- Nobody asks the surface before then; null while it may be asked freely.
  ask_again_at timestamptz(3),
  detail text,
  capture_id text,
  refused_at timestamptz(3),
  -- When a picture of a failed page was last kept: a few are enough.
  pictured_at timestamptz(3)
);
`);
}
