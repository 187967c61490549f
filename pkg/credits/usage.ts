import { query, type Database } from '../postgres/index.ts';

/** Days of the usage window, today included (spec 4.8). */
const WINDOW_DAYS = 30;
/** Days of the daily series. */
const SERIES_DAYS = 90;
const DAY_MS = 24 * 60 * 60 * 1000;

export type UsageGroup = { surface: string; region: string; method: string; callCount: number; creditsCharged: number };
export type UsageDay = { date: string; callCount: number; creditsCharged: number };

export type Usage = {
  usage: {
    window: { from: string; to: string };
    groups: UsageGroup[];
    totals: { callCount: number; creditsCharged: number };
    daily: UsageDay[];
  };
  balance: { total: number; reserved: number; available: number };
};

/** What an account used, from the daily roll-up: its cost depends on days and surfaces, never on captures. */
export async function readUsage(db: Database, accountId: string, nowMs: number): Promise<Usage> {
  const to = dayOf(nowMs);
  const from = dayOf(nowMs - (WINDOW_DAYS - 1) * DAY_MS);
  const seriesFrom = dayOf(nowMs - (SERIES_DAYS - 1) * DAY_MS);
  return db.readAsTenant(accountId, async (sql) => {
    const groups = await query<UsageGroup>(
      sql,
      `SELECT surface, region_key AS region, method, sum(call_count)::bigint AS "callCount", sum(credits_charged)::bigint AS "creditsCharged"
       FROM usage_daily WHERE account_id = :accountId AND day BETWEEN CAST(:from AS date) AND CAST(:to AS date)
       GROUP BY surface, region_key, method ORDER BY surface, region_key, method`,
      { accountId, from, to },
    );
    const days = await query<UsageDay>(
      sql,
      `SELECT to_char(day, 'YYYY-MM-DD') AS date, sum(call_count)::bigint AS "callCount", sum(credits_charged)::bigint AS "creditsCharged"
       FROM usage_daily WHERE account_id = :accountId AND day BETWEEN CAST(:seriesFrom AS date) AND CAST(:to AS date) GROUP BY day`,
      { accountId, seriesFrom, to },
    );
    const [account] = await query<{ total: number; reserved: number }>(
      sql,
      'SELECT balance AS total, held AS reserved FROM accounts WHERE id = :accountId',
      { accountId },
    );
    const { total, reserved } = account ?? { total: 0, reserved: 0 };
    return {
      usage: { window: { from, to }, groups, totals: sumUp(groups), daily: fillDays(days, nowMs) },
      balance: { total, reserved, available: total - reserved },
    };
  });
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function sumUp(groups: readonly UsageGroup[]): { callCount: number; creditsCharged: number } {
  return {
    callCount: groups.reduce((sum, { callCount }) => sum + callCount, 0),
    creditsCharged: groups.reduce((sum, { creditsCharged }) => sum + creditsCharged, 0),
  };
}

/** Every day of the series, oldest first; a day without captures counts zero. */
function fillDays(days: readonly UsageDay[], nowMs: number): UsageDay[] {
  const known = new Map(days.map((day) => [day.date, day]));
  return Array.from({ length: SERIES_DAYS }, (_, index) => {
    const date = dayOf(nowMs - (SERIES_DAYS - 1 - index) * DAY_MS);
    return known.get(date) ?? { date, callCount: 0, creditsCharged: 0 };
  });
}
