import type { Knex } from 'knex';

/**
 * Accounts are leased instead of deliveries. To take a delivery writes nothing any more, and its end is the only write of
 * its row: half of what a delivery cost the database was to claim it.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(`
-- A row for each account whose deliveries some dispatcher makes. Only dispatchers look at it, so no tenant may.
CREATE TABLE webhook_lines (
  account_id text PRIMARY KEY,
  holder text NOT NULL,
  lease_until timestamptz(3) NOT NULL
);
-- Its column lease_until is nobody's any more but the version's before, which still runs while the schema is new already.
ALTER TABLE webhook_queue
  -- Changes with every write of the row, so that what was read before changes nothing.
  ADD COLUMN version integer NOT NULL DEFAULT 0,
  -- Rows are made and deleted, and few are changed.
  RESET (fillfactor);
`);
}
