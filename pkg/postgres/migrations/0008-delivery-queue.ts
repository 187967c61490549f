import type { Knex } from 'knex';

/**
 * What waits, what is frozen and what has ended stand apart. A claim and an end change rows of a few dozen bytes in a
 * table that is as small as the backlog, and Postgres can't mistake a look-up by key for a reason to read all that waits.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(QUEUE);
  await sql.raw(ENDS);
  await sql.raw(MOVE);
  await sql.raw(ENQUEUE);
  await sql.raw(ROW_SECURITY);
}

const QUEUE = `
-- A row for each delivery that another attempt will come of, and for no other.
CREATE TABLE webhook_queue (
  delivery_id text PRIMARY KEY REFERENCES webhook_deliveries (id) ON DELETE CASCADE,
  account_id text NOT NULL,
  -- Since it was made, or started over.
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3) NOT NULL DEFAULT now(),
  lease_until timestamptz(3),
  last_status integer,
  last_error text,
  -- When its attempts began: when it was made, or started over by hand.
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  -- The delivery's own, for the list of what waits.
  created_at timestamptz(3) NOT NULL DEFAULT now()
-- Every claim changes a row, and each page has room for that.
) WITH (fillfactor = 50);
CREATE INDEX webhook_queue_due ON webhook_queue (account_id, next_attempt_at, delivery_id);
CREATE INDEX webhook_queue_newest ON webhook_queue (account_id, created_at DESC, delivery_id DESC);
`;

const ENDS = `
-- How each delivery ended that has no row in the queue. It refers to the delivery without a foreign key: to look that up
-- and lock it would cost each end as much as all else that it writes.
CREATE TABLE webhook_ends (
  delivery_id text PRIMARY KEY,
  account_id text NOT NULL,
  state text NOT NULL CHECK (state IN ('delivered', 'dead', 'gone')),
  attempts integer NOT NULL,
  last_status integer,
  last_error text,
  started_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3) NOT NULL,
  -- The delivery's own, for the list of what ended so.
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX webhook_ends_newest_in_state ON webhook_ends (account_id, state, created_at DESC, delivery_id DESC);
CREATE INDEX webhook_ends_ended ON webhook_ends (ended_at);
`;

const MOVE = `
INSERT INTO webhook_queue
  SELECT id, account_id, attempts, next_attempt_at, lease_until, last_status, last_error, started_at, created_at
  FROM webhook_deliveries WHERE state = 'pending';
INSERT INTO webhook_ends
  SELECT id, account_id, state, attempts, last_status, last_error, started_at, ended_at, created_at
  FROM webhook_deliveries WHERE state <> 'pending';
ALTER TABLE webhook_deliveries
  DROP COLUMN state, DROP COLUMN attempts, DROP COLUMN next_attempt_at, DROP COLUMN lease_until,
  DROP COLUMN last_status, DROP COLUMN last_error, DROP COLUMN started_at, DROP COLUMN ended_at;
-- A row is never changed, so nothing is won by keeping its body elsewhere.
ALTER TABLE webhook_deliveries RESET (fillfactor), SET (toast_tuple_target = 4080);
`;

const ENQUEUE = `
-- By the database, so that none is ever made that does not wait: also not by a lane of the version before this one, which
-- still runs while the schema is new already.
CREATE FUNCTION enqueue_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_queue (delivery_id, account_id, created_at) VALUES (NEW.id, NEW.account_id, NEW.created_at);
  RETURN NULL;
END
$$;
CREATE TRIGGER enqueue_delivery AFTER INSERT ON webhook_deliveries FOR EACH ROW EXECUTE FUNCTION enqueue_delivery();
`;

const ROW_SECURITY = ['webhook_queue', 'webhook_ends']
  .map(
    (table) => `
ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON ${table} TO scs_tenant USING (account_id = current_setting('app.account', true));
`,
  )
  .join('')
  .concat(
    `GRANT SELECT, INSERT, UPDATE ON webhook_queue TO scs_tenant;
     GRANT SELECT, DELETE ON webhook_ends TO scs_tenant;
     REVOKE UPDATE ON webhook_deliveries FROM scs_tenant;`,
  );
