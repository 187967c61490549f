import type { Knex } from 'knex';

/** A claim writes next to the row it claims and touches no index: only an end has to. */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(`
-- What a claim changes stands in no index, and each page has room for it. Bodies stand apart, as every change of a row
-- would copy its own; the rest of a row fits.
ALTER TABLE webhook_deliveries SET (fillfactor = 50, toast_tuple_target = 1024);
DROP INDEX webhook_deliveries_leased;
`);
}
