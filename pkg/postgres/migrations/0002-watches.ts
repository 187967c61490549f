import type { Knex } from 'knex';

/** Saved searches that run on a schedule, and the history of their runs. */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(WATCHES);
  await sql.raw(RUNS);
  await sql.raw(ROW_SECURITY);
}

const WATCHES = `
CREATE TABLE watches (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  -- The Kubernetes resource that owns the watch; whoever else wants to change it is sent there.
  managed_by text CHECK (managed_by <> ''),
  name text NOT NULL,
  query text NOT NULL,
  surfaces text[] NOT NULL CHECK (cardinality(surfaces) > 0),
  regions jsonb NOT NULL,
  extract jsonb,
  webhook_url text,
  -- False for a watch that an internal key made: like the key's own searches, its runs cost nothing.
  metered boolean NOT NULL,
  interval_minutes integer NOT NULL CHECK (interval_minutes > 0),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'canceled')),
  paused_reason text,
  -- Runs in a row that ended as skipped_credits; at the third the watch is paused.
  credit_skips integer NOT NULL DEFAULT 0 CHECK (credit_skips BETWEEN 0 AND 3),
  -- The next tick. Every later one is a whole number of intervals away from it.
  next_run_at timestamptz(3) NOT NULL,
  -- The watch's own share of the dispatcher's spreading window, from 0 to 1, always the same.
  jitter double precision NOT NULL
    GENERATED ALWAYS AS ((hashtextextended(id, 0) & 65535)::double precision / 65536) STORED,
  -- Of the latest run that made a job.
  last_run_at timestamptz(3),
  last_job_id text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT paused_for_a_reason CHECK ((status = 'paused') = (paused_reason IS NOT NULL)),
  CONSTRAINT three_skips_pause CHECK (credit_skips < 3 OR status <> 'active'),
  CONSTRAINT last_run_has_a_job CHECK ((last_run_at IS NULL) = (last_job_id IS NULL))
);
CREATE INDEX watches_newest ON watches (account_id, created_at DESC, id DESC);
-- The first finds the accounts that something is due for, the second what is due in one account, and counts its active ones.
CREATE INDEX watches_due ON watches (next_run_at) WHERE status = 'active';
CREATE INDEX watches_active ON watches (account_id, next_run_at) WHERE status = 'active';
CREATE UNIQUE INDEX watches_one_for_a_resource ON watches (account_id, managed_by)
  WHERE managed_by IS NOT NULL AND status <> 'canceled';
`;

const RUNS = `
CREATE TABLE watch_runs (
  id text PRIMARY KEY,
  -- The watch's own, which refers to the account: a second look at it costs each run for nothing.
  account_id text NOT NULL,
  watch_id text NOT NULL REFERENCES watches (id),
  scheduled_for timestamptz(3) NOT NULL,
  status text NOT NULL CHECK (status IN ('dispatched', 'skipped_credits', 'skipped_limit', 'failed')),
  job_id text,
  detail text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- This, and no lock or leader, is why a tick can't run twice.
  CONSTRAINT one_run_for_a_tick UNIQUE (watch_id, scheduled_for),
  CONSTRAINT a_job_when_dispatched CHECK ((status = 'dispatched') = (job_id IS NOT NULL))
);
CREATE INDEX watch_runs_newest ON watch_runs (watch_id, created_at DESC, id DESC);
`;

const ROW_SECURITY = ['watches', 'watch_runs']
  .map(
    (table) => `
ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON ${table} TO scs_tenant USING (account_id = current_setting('app.account', true));
GRANT SELECT, INSERT ON ${table} TO scs_tenant;
`,
  )
  .join('')
  .concat('GRANT UPDATE ON watches TO scs_tenant;');
