import type { Knex } from 'knex';

/** What the pods of a cluster's lanes say of themselves, and what they are told. */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(LANE_PODS);
}

const LANE_PODS = `
CREATE TABLE lane_pods (
  -- namespace/name
  pod text PRIMARY KEY,
  surface text NOT NULL,
  -- Captures that it runs now.
  busy integer NOT NULL DEFAULT 0 CHECK (busy >= 0),
  -- It takes no more captures, and runs none: it may be deleted.
  drained boolean NOT NULL DEFAULT false,
  -- It shall take no more captures. Ends by itself, so that no pod stays idle because a controller is gone.
  cordoned_until timestamptz(3),
  reported_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT drained_is_idle CHECK (NOT drained OR busy = 0)
);
CREATE INDEX lane_pods_surface ON lane_pods (surface);

-- The CaptureLane that speaks for the surface (namespace/name); null where lanes are files.
ALTER TABLE lanes ADD COLUMN managed_by text CHECK (managed_by <> '');

-- The controller of Watch resources looks for runs that are new to it.
CREATE INDEX watches_of_resources ON watches (managed_by) WHERE managed_by IS NOT NULL AND status <> 'canceled';
CREATE INDEX watch_runs_recent ON watch_runs (created_at);
`;
