import type { Knex } from 'knex';

/**
 * Accounts, keys, credits, searches, captures and what hangs on them. The states that must never exist are refused
 * here: the code above may be wrong, the rows may not.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(ROLE);
  await sql.raw(ACCOUNTS);
  await sql.raw(SEARCHES);
  await sql.raw(RESULTS);
  await sql.raw(WEBHOOKS);
  await sql.raw(LANES);
  await sql.raw(GATES);
  await sql.raw(ROW_SECURITY);
}

// A role belongs to the whole server, so another database of the same server may have made it already, or be making
// it at this moment.
const ROLE = `
DO $$ BEGIN
  CREATE ROLE scs_tenant NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$ BEGIN
  EXECUTE format('GRANT scs_tenant TO %I', current_user);
EXCEPTION WHEN unique_violation THEN NULL;
END $$;
`;

const ACCOUNTS = `
CREATE TABLE accounts (
  id text PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL,
  plan text NOT NULL,
  -- The sum of the account's ledger, kept beside it so that one conditional UPDATE can reserve.
  balance bigint NOT NULL DEFAULT 0 CHECK (balance >= 0),
  held bigint NOT NULL DEFAULT 0,
  -- How many captures wait, run, and belong to synchronous searches: the gates read and raise them in one UPDATE.
  queued integer NOT NULL DEFAULT 0 CHECK (queued >= 0),
  running integer NOT NULL DEFAULT 0 CHECK (running >= 0),
  sync_in_flight integer NOT NULL DEFAULT 0 CHECK (sync_in_flight >= 0),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT held_is_covered CHECK (held BETWEEN 0 AND balance)
);
CREATE UNIQUE INDEX accounts_email ON accounts (lower(email));

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  hash bytea NOT NULL UNIQUE,
  mode text NOT NULL CHECK (mode IN ('live', 'test', 'internal')),
  last_four text NOT NULL,
  scopes text[] NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  revoked_at timestamptz(3)
);
CREATE INDEX api_keys_account ON api_keys (account_id);
`;

const SEARCHES = `
CREATE TABLE searches (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  query text NOT NULL,
  method text NOT NULL CHECK (method IN ('sync', 'async', 'batch', 'watch', 'mcp')),
  surfaces text[] NOT NULL,
  extract jsonb,
  wants_html boolean NOT NULL DEFAULT false,
  webhook_url text,
  webhook_secret_ciphertext text,
  child_count integer NOT NULL CHECK (child_count > 0),
  completed_count integer NOT NULL DEFAULT 0 CHECK (completed_count >= 0),
  partial_count integer NOT NULL DEFAULT 0 CHECK (partial_count >= 0),
  failed_count integer NOT NULL DEFAULT 0 CHECK (failed_count >= 0),
  canceled_count integer NOT NULL DEFAULT 0 CHECK (canceled_count >= 0),
  expired_count integer NOT NULL DEFAULT 0 CHECK (expired_count >= 0),
  credits_to_charge integer NOT NULL CHECK (credits_to_charge >= 0),
  -- The roll-up (spec 3.1) is computed, never written: it can't disagree with the children's counts.
  state text NOT NULL GENERATED ALWAYS AS (
    CASE
      WHEN completed_count + partial_count + failed_count + canceled_count + expired_count < child_count THEN 'processing'
      WHEN completed_count = child_count THEN 'completed'
      WHEN failed_count = child_count THEN 'failed'
      WHEN canceled_count = child_count THEN 'canceled'
      WHEN expired_count = child_count THEN 'expired'
      ELSE 'partial'
    END
  ) STORED,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT no_child_ends_twice CHECK (
    completed_count + partial_count + failed_count + canceled_count + expired_count <= child_count
  )
);
CREATE INDEX searches_newest ON searches (account_id, created_at DESC, id DESC);
CREATE INDEX searches_newest_in_state ON searches (account_id, state, created_at DESC, id DESC);

CREATE TABLE captures (
  id text PRIMARY KEY,
  search_id text NOT NULL REFERENCES searches (id) ON DELETE CASCADE,
  account_id text NOT NULL REFERENCES accounts (id),
  position integer NOT NULL,
  surface text NOT NULL,
  region_key text NOT NULL,
  region jsonb,
  state text NOT NULL DEFAULT 'queued'
    CHECK (state IN ('queued', 'running', 'completed', 'partial', 'failed', 'canceled', 'expired')),
  synchronous boolean NOT NULL,
  -- Only grows: a lane that lost its capture holds an older one, and whatever it writes changes no row.
  fence bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  lease_until timestamptz(3),
  -- The outbox: when this waiting capture is next due to be announced to its lane's queue.
  announce_at timestamptz(3),
  expires_at timestamptz(3) NOT NULL,
  price integer NOT NULL CHECK (price >= 0),
  credits_held integer NOT NULL CHECK (credits_held >= 0),
  credits_charged integer NOT NULL DEFAULT 0,
  outcome text,
  error_code text,
  error_message text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  started_at timestamptz(3),
  ended_at timestamptz(3),
  UNIQUE (search_id, position),
  CONSTRAINT held_until_the_end CHECK (credits_held = CASE WHEN state IN ('queued', 'running') THEN price ELSE 0 END),
  CONSTRAINT charged_only_when_completed CHECK (credits_charged = 0 OR (state = 'completed' AND credits_charged = price)),
  CONSTRAINT leased_while_running CHECK ((state = 'running') = (lease_until IS NOT NULL)),
  CONSTRAINT announced_while_queued CHECK ((state = 'queued') = (announce_at IS NOT NULL)),
  CONSTRAINT ended_when_terminal CHECK ((state IN ('queued', 'running')) = (ended_at IS NULL))
);
CREATE INDEX captures_to_announce ON captures (announce_at) WHERE state = 'queued';
CREATE INDEX captures_to_expire ON captures (expires_at) WHERE state = 'queued';
CREATE INDEX captures_leased ON captures (lease_until) WHERE state = 'running';
CREATE INDEX captures_on_surface ON captures (account_id, surface, created_at DESC, search_id DESC);

CREATE TABLE idempotency_keys (
  account_id text NOT NULL REFERENCES accounts (id),
  -- Hashed: a btree takes no row of 255 four-byte characters for granted, and equality is all that is asked of it.
  key_hash bytea NOT NULL,
  fingerprint bytea NOT NULL,
  search_id text NOT NULL REFERENCES searches (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, key_hash)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
`;

const RESULTS = `
CREATE TABLE ledger_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  kind text NOT NULL CHECK (kind IN ('grant', 'charge')),
  -- Positive for a grant, negative for a charge: the sum is the balance.
  amount bigint NOT NULL,
  capture_id text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT sign_of_kind CHECK ((kind = 'grant' AND amount > 0 AND capture_id IS NULL) OR (kind = 'charge' AND amount < 0 AND capture_id IS NOT NULL))
);
CREATE UNIQUE INDEX ledger_charges_once ON ledger_entries (capture_id) WHERE kind = 'charge';
CREATE INDEX ledger_entries_account ON ledger_entries (account_id, id);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE ON ledger_entries
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE envelopes (
  capture_id text PRIMARY KEY REFERENCES captures (id) ON DELETE CASCADE,
  account_id text NOT NULL REFERENCES accounts (id),
  -- json, not jsonb: it is read back as it was written, in the order that a person reads it.
  envelope json NOT NULL
);

-- Rolled up when a capture ends, so that reading usage never counts captures.
CREATE TABLE usage_daily (
  account_id text NOT NULL REFERENCES accounts (id),
  day date NOT NULL,
  surface text NOT NULL,
  region_key text NOT NULL,
  method text NOT NULL,
  call_count bigint NOT NULL,
  credits_charged bigint NOT NULL,
  PRIMARY KEY (account_id, day, surface, region_key, method)
);

CREATE TABLE artifacts (
  key text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  capture_id text NOT NULL,
  content_type text NOT NULL,
  sha256 text NOT NULL,
  size integer NOT NULL CHECK (size >= 0),
  -- Pages kept for the operator (a blocked page's screenshot) are never served.
  served boolean NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX artifacts_capture ON artifacts (capture_id);

-- The bytes, where the artifact store is this database. Keyed by content, so that no client text becomes a name.
CREATE TABLE artifact_blobs (
  sha256 text PRIMARY KEY,
  bytes bytea NOT NULL
);
`;

const WEBHOOKS = `
CREATE TABLE webhook_secrets (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  ciphertext text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'retiring')),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3),
  CONSTRAINT only_retiring_ones_end CHECK ((status = 'retiring') = (expires_at IS NOT NULL))
);
CREATE INDEX webhook_secrets_account ON webhook_secrets (account_id, created_at DESC);

CREATE TABLE webhook_deliveries (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  capture_id text NOT NULL UNIQUE,
  url text NOT NULL,
  secret_ciphertext text,
  -- Text, not jsonb: the bytes that are signed are the bytes that were frozen.
  body text NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead', 'gone')),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3) NOT NULL DEFAULT now(),
  lease_until timestamptz(3),
  last_status integer,
  last_error text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  delivered_at timestamptz(3)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (account_id, next_attempt_at, id) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (account_id, created_at DESC, id DESC);
`;

const LANES = `
-- One row for each surface that has a lane. Who runs the lanes writes it; the API reads it.
CREATE TABLE lanes (
  surface text PRIMARY KEY,
  name text NOT NULL,
  driver text NOT NULL,
  live boolean NOT NULL,
  -- Why captures would fail right now, in words for the operator; null while the lane can work.
  unavailable_reason text,
  queue_seconds integer NOT NULL,
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
`;

// The second line behind the owner in every query: a role that can't see another tenant's rows even when asked to.
const OWNED = [
  'api_keys',
  'searches',
  'captures',
  'idempotency_keys',
  'ledger_entries',
  'envelopes',
  'usage_daily',
  'artifacts',
  'webhook_secrets',
  'webhook_deliveries',
];

const GATES = `
-- Counts submits while Redis is away, so that the gate holds across API processes all the same. Its shape is that of
-- rate-limiter-flexible. Not logged: after a crash of the server the counts of the last minute are worth nothing.
CREATE UNLOGGED TABLE rate_limits (
  key varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);
`;

const ROW_SECURITY = `
${OWNED.map(
  (table) => `
ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON ${table} TO scs_tenant USING (account_id = current_setting('app.account', true));
`,
).join('')}
ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_row ON accounts TO scs_tenant USING (id = current_setting('app.account', true));
GRANT USAGE ON SCHEMA public TO scs_tenant;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO scs_tenant;
REVOKE SELECT ON artifact_blobs, rate_limits FROM scs_tenant;
GRANT INSERT ON searches, captures, idempotency_keys, envelopes, usage_daily, ledger_entries, webhook_deliveries TO scs_tenant;
GRANT UPDATE ON accounts, searches, captures, usage_daily, webhook_deliveries TO scs_tenant;
`;
