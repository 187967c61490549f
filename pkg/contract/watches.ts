import type { Region } from './regions.ts';
import type { Extraction, WatchStatus } from './schemas/index.ts';
import type { Surface } from './surfaces.ts';

/** Why a watch is paused: somebody asked for it, three runs in a row lacked credits (spec 3.2), or its resource's key is no good. */
export const PAUSED_REASONS = ['user', 'insufficient_credits', 'key_rejected'] as const;
export type PausedReason = (typeof PAUSED_REASONS)[number];

/** A watch as every client sees it (spec 2.6). */
export type Watch = {
  id: string;
  name: string;
  query: string;
  surfaces: Surface[];
  regions: Region[];
  extract: Extraction | null;
  webhookUrl: string | null;
  schedule: { every: string; intervalMinutes: number };
  status: WatchStatus;
  pausedReason: PausedReason | null;
  nextRunAt: string;
  lastRunAt: string | null;
  lastJobId: string | null;
  createdAt: string;
};

export const WATCH_RUN_STATUSES = ['dispatched', 'skipped_credits', 'skipped_limit', 'failed'] as const;
export type WatchRunStatus = (typeof WATCH_RUN_STATUSES)[number];

/** One tick of a watch, and what became of it (spec 2.7, 3.3). */
export type WatchRun = {
  id: string;
  watchId: string;
  jobId: string | null;
  scheduledFor: string;
  status: WatchRunStatus;
  detail: string;
  createdAt: string;
};
