import type { Surface } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';

/** What a lane's pod says of itself. */
export type PodReport = { pod: string; surface: Surface; busy: number; drained: boolean };

/** A report older than this says nothing any more: the pod hangs, is gone, or can't reach the database. */
const FRESH_SECONDS = 30;
/** A cordon that nobody renews ends: a controller that is gone must not leave pods idle. */
const CORDON_SECONDS = 60;

/** Stores what a pod says, and tells it whether it shall take no more captures. */
export async function reportPod(sql: Sql, report: PodReport): Promise<{ cordoned: boolean }> {
  const [row] = await query<{ cordoned: boolean }>(
    sql,
    `INSERT INTO lane_pods (pod, surface, busy, drained) VALUES (:pod, :surface, :busy, :drained)
     ON CONFLICT (pod) DO UPDATE
     SET surface = excluded.surface, busy = excluded.busy, drained = excluded.drained, reported_at = now()
     RETURNING coalesce(cordoned_until > now(), false) AS cordoned`,
    report,
  );
  return { cordoned: row?.cordoned ?? false };
}

/** A pod that ends takes its report with it. */
export async function forgetPod(sql: Sql, pod: string): Promise<void> {
  await query(sql, 'DELETE FROM lane_pods WHERE pod = :pod', { pod });
}

/** A report as the controller reads it. */
export type KnownPod = { pod: string; busy: number; drained: boolean; cordoned: boolean };

/** The pods of a surface that have reported lately, by name. */
export async function readPods(sql: Sql, surface: Surface): Promise<ReadonlyMap<string, KnownPod>> {
  const rows = await query<KnownPod>(
    sql,
    `SELECT pod, busy, drained, coalesce(cordoned_until > now(), false) AS cordoned FROM lane_pods
     WHERE surface = :surface AND reported_at > now() - make_interval(secs => :freshSeconds)`,
    { surface, freshSeconds: FRESH_SECONDS },
  );
  return new Map(rows.map((row) => [row.pod, row]));
}

/**
 * Tells pods to take no more captures, for a minute from now, and returns those that are drained. A pod that has just
 * gone back to work has said so before it did, in the same row: it is never among them.
 */
export async function cordonPods(sql: Sql, pods: readonly string[]): Promise<ReadonlySet<string>> {
  if (pods.length === 0) return new Set();
  const rows = await query<{ pod: string }>(
    sql,
    `WITH told AS (
       UPDATE lane_pods SET cordoned_until = now() + make_interval(secs => :cordonSeconds)
       WHERE pod = ANY(:pods) RETURNING pod, drained
     ) SELECT pod FROM told WHERE drained`,
    { pods, cordonSeconds: CORDON_SECONDS },
  );
  return new Set(rows.map(({ pod }) => pod));
}

/** Lets pods take captures again. */
export async function uncordonPods(sql: Sql, pods: readonly string[]): Promise<void> {
  if (pods.length === 0) return;
  await query(sql, 'UPDATE lane_pods SET cordoned_until = NULL WHERE pod = ANY(:pods)', { pods });
}

/** Deletes the reports of pods that have said nothing for an hour. */
export async function forgetLostPods(sql: Sql): Promise<void> {
  await query(sql, `DELETE FROM lane_pods WHERE reported_at < now() - interval '1 hour'`);
}
