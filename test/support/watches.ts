import { newId } from '../../pkg/contract/index.ts';
import { query, type Sql } from '../../pkg/postgres/index.ts';

export type WatchRows = {
  accountId: string;
  count?: number;
  intervalMinutes?: number;
  /** When they are next due, as seconds before now; negative for later. */
  dueSecondsAgo?: number;
  surfaces?: string[];
  webhookUrl?: string | null;
  metered?: boolean;
};

/** Watches whose tick has come, as only time could make them. Returns their ids in the order of their ids. */
export async function insertDueWatches(sql: Sql, wanted: WatchRows): Promise<string[]> {
  const { count = 1, intervalMinutes = 60, dueSecondsAgo = 1, surfaces = ['engine_news'] } = wanted;
  const ids = Array.from({ length: count }, () => newId('watch', Date.now())).sort();
  await query(
    sql,
    `INSERT INTO watches (id, account_id, name, query, surfaces, regions, metered, webhook_url, interval_minutes, next_run_at)
     SELECT id, :accountId, '', 'which bicycle is best', :surfaces, '[]', :metered, :webhookUrl, :intervalMinutes,
            now() - make_interval(secs => :dueSecondsAgo)
     FROM unnest(CAST(:ids AS text[])) AS id`,
    {
      accountId: wanted.accountId,
      ids,
      surfaces,
      intervalMinutes,
      dueSecondsAgo,
      metered: wanted.metered ?? true,
      webhookUrl: wanted.webhookUrl ?? null,
    },
  );
  return ids;
}
