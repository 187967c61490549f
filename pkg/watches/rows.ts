import {
  formatEvery,
  type Extraction,
  type PausedReason,
  type Region,
  type Surface,
  type Watch,
  type WatchRun,
  type WatchStatus,
} from '../contract/index.ts';

/** A watch as `WATCH_COLUMNS` selects it. */
export type WatchRow = {
  id: string;
  managedBy: string | null;
  name: string;
  query: string;
  surfaces: Surface[];
  regions: Region[];
  extract: Extraction | null;
  webhookUrl: string | null;
  metered: boolean;
  intervalMinutes: number;
  status: WatchStatus;
  pausedReason: PausedReason | null;
  nextRunAt: Date;
  lastRunAt: Date | null;
  lastJobId: string | null;
  createdAt: Date;
};

export const WATCH_COLUMNS = `id, managed_by AS "managedBy", name, query, surfaces, regions, extract, webhook_url AS "webhookUrl",
  metered, interval_minutes AS "intervalMinutes", status, paused_reason AS "pausedReason", next_run_at AS "nextRunAt",
  last_run_at AS "lastRunAt", last_job_id AS "lastJobId", created_at AS "createdAt"`;

export const RUN_COLUMNS = `id, watch_id AS "watchId", job_id AS "jobId", scheduled_for AS "scheduledFor", status, detail,
  created_at AS "createdAt"`;

export type RunRow = Omit<WatchRun, 'scheduledFor' | 'createdAt'> & { scheduledFor: Date; createdAt: Date };

export function toWatch(row: WatchRow): Watch {
  return {
    id: row.id,
    name: row.name,
    query: row.query,
    surfaces: row.surfaces,
    regions: row.regions,
    extract: row.extract,
    webhookUrl: row.webhookUrl,
    schedule: { every: formatEvery(row.intervalMinutes), intervalMinutes: row.intervalMinutes },
    status: row.status,
    pausedReason: row.pausedReason,
    nextRunAt: row.nextRunAt.toISOString(),
    lastRunAt: row.lastRunAt?.toISOString() ?? null,
    lastJobId: row.lastJobId,
    createdAt: row.createdAt.toISOString(),
  };
}

export function toRun({ scheduledFor, createdAt, ...rest }: RunRow): WatchRun {
  return { ...rest, scheduledFor: scheduledFor.toISOString(), createdAt: createdAt.toISOString() };
}
