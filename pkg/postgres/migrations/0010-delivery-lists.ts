import type { Knex } from 'knex';

/**
 * The lists of deliveries cost an end less, and mislead no look-up. An index that has a delivery's id behind other columns
 * may be read from end to end for each id, as long as Postgres believes its table to be empty: for a burst that comes
 * before the statistics this was a second for each read. Ids decide the order only among those of one millisecond, which
 * are sorted.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(`
DROP INDEX webhook_deliveries_newest;
DROP INDEX webhook_deliveries_newest_of_type;
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (account_id, created_at DESC);
CREATE INDEX webhook_deliveries_newest_of_type ON webhook_deliveries (account_id, type, created_at DESC);

-- What waits of an account is few, and sorted for its list.
DROP INDEX webhook_queue_newest;

-- Almost all end as delivered: those are found among all deliveries, and pay for no index of their own.
DROP INDEX webhook_ends_newest_in_state;
CREATE INDEX webhook_ends_newest_not_delivered ON webhook_ends (account_id, state, created_at DESC) WHERE state <> 'delivered';
`);
}
