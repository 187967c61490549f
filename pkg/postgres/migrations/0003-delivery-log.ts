import type { Knex } from 'knex';

/** Deliveries become a log that their owner reads: filtered by event and state, and forgotten some time after they ended. */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(`
ALTER TABLE webhook_deliveries ADD COLUMN type text;
UPDATE webhook_deliveries SET type = CAST(body AS json) ->> 'type';
ALTER TABLE webhook_deliveries ALTER COLUMN type SET NOT NULL;

-- When its attempts began: when it was made, or started over by hand.
ALTER TABLE webhook_deliveries ADD COLUMN started_at timestamptz(3) NOT NULL DEFAULT now();
UPDATE webhook_deliveries SET started_at = created_at;

-- Takes the place of delivered_at: every end counts, as the row is kept for a time after it.
ALTER TABLE webhook_deliveries RENAME COLUMN delivered_at TO ended_at;
UPDATE webhook_deliveries SET ended_at = coalesce(ended_at, next_attempt_at) WHERE state <> 'pending';
ALTER TABLE webhook_deliveries
  ADD CONSTRAINT pending_until_the_end CHECK ((state = 'pending') = (ended_at IS NULL)),
  ADD CONSTRAINT leased_while_pending CHECK (state = 'pending' OR lease_until IS NULL);

CREATE INDEX webhook_deliveries_newest_in_state ON webhook_deliveries (account_id, state, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_newest_of_type ON webhook_deliveries (account_id, type, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL;
-- How many attempts of an account run is asked at every claim, and must not cost a look at all that waits.
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (account_id, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX searches_with_inline_secret ON searches (created_at) WHERE webhook_secret_ciphertext IS NOT NULL;
`);
}
