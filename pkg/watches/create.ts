import { invalid, newId, ServiceError, type Watch, type WatchDraft } from '../contract/index.ts';
import { query, type Database, type Sql } from '../postgres/index.ts';
import { gather, type Clock } from '../runtime/index.ts';
import { requireDestination, type Guard } from '../webhooks/index.ts';
import { exceedsLimit, requireInterval, type WatchActor } from './actor.ts';
import { toWatch, WATCH_COLUMNS, type WatchRow } from './rows.ts';

export type WatchDeps = { db: Database; clock: Clock; guard: Guard };

/**
 * Makes an active watch whose first run is one interval from now (spec 3.2). Throws `WATCH_INTERVAL_TOO_SHORT`,
 * `WATCH_LIMIT_EXCEEDED`, and `VALIDATION_FAILED` for a destination that is not public; never looks at credits.
 */
export type CreateWatch = (actor: WatchActor, draft: WatchDraft) => Promise<Watch>;

/** One watch, as `CreateWatch` says. */
export async function createWatch(deps: WatchDeps, actor: WatchActor, draft: WatchDraft): Promise<Watch> {
  return createWatchMaker(deps)(actor, draft);
}

/** For how long those that follow each other gather. */
const REST_MS = 50;

/**
 * For who makes many: watches of one account that are asked for at about the same time are made in one transaction. One
 * by one they would queue for the account's row, each for as long as it takes to talk to Postgres six times.
 */
export function createWatchMaker(deps: WatchDeps): CreateWatch {
  const insert = gather((asked: readonly NewWatch[]) => insertAll(deps.db, asked), { restMs: REST_MS });
  return async (actor, draft) => {
    requireInterval(actor, draft.intervalMinutes);
    if (draft.webhookUrl !== null) await requireDestination(deps.guard, draft.webhookUrl, 'webhookUrl');
    const made = await insert({ id: newId('watch', deps.clock.nowMs()), actor, draft });
    if (made instanceof ServiceError) throw made;
    return toWatch(made);
  };
}

type NewWatch = { id: string; actor: WatchActor; draft: WatchDraft };
type Made = WatchRow | ServiceError;

async function insertAll(db: Database, asked: readonly NewWatch[]): Promise<Made[]> {
  const made = new Map<NewWatch, Made>();
  const byAccount = Map.groupBy(asked, ({ actor }) => actor.accountId);
  await Promise.all(
    [...byAccount].map(async ([accountId, group]) => {
      const rows = await db.asTenant(accountId, (sql) => insertWhereRoom(sql, accountId, group));
      group.forEach((one, at) => made.set(one, rows[at] ?? refuseSecond(one)));
    }),
  );
  return asked.map((one) => made.get(one) ?? refuseSecond(one));
}

/** What is made of each: its row, or why there is none. */
async function insertWhereRoom(sql: Sql, accountId: string, group: readonly NewWatch[]): Promise<Made[]> {
  const active = await countActive(sql, accountId);
  const hasRoom = ({ actor }: NewWatch, at: number): boolean => active + at < actor.plan.activeWatches;
  const rows = await insertWatches(sql, accountId, group.filter(hasRoom));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return group.map((one, at) => (hasRoom(one, at) ? (byId.get(one.id) ?? refuseSecond(one)) : exceedsLimit(one.actor)));
}

function refuseSecond({ actor }: NewWatch): ServiceError {
  return invalid([{ path: 'managedBy', message: `${actor.managedBy ?? 'it'} has a watch already` }]);
}

/** Refuses one more active watch above the ceiling. Holds the account until the caller's transaction ends. */
export async function requireRoom(sql: Sql, actor: WatchActor): Promise<void> {
  if ((await countActive(sql, actor.accountId)) >= actor.plan.activeWatches) throw exceedsLimit(actor);
}

/**
 * The account's row stays locked until the caller's transaction ends, so of racing creates and resumes each sees what
 * those before it left. Not FOR UPDATE: that would also hold up every insert that refers to the account.
 */
async function countActive(sql: Sql, accountId: string): Promise<number> {
  await query(sql, 'SELECT id FROM accounts WHERE id = :accountId FOR NO KEY UPDATE', { accountId });
  const [row] = await query<{ active: number }>(
    sql,
    `SELECT count(*) AS active FROM watches WHERE account_id = :accountId AND status = 'active'`,
    { accountId },
  );
  return row?.active ?? 0;
}

/** Rows of those that were made: a resource that has a watch of the account already gets no second one. */
async function insertWatches(sql: Sql, accountId: string, asked: readonly NewWatch[]): Promise<WatchRow[]> {
  if (asked.length === 0) return [];
  const watches = asked.map(({ id, actor: { managedBy, metered }, draft }) => ({ id, managedBy, metered, ...draft }));
  return query<WatchRow>(
    sql,
    `INSERT INTO watches (id, account_id, managed_by, metered, name, query, surfaces, regions, extract, webhook_url,
                          interval_minutes, next_run_at)
     SELECT id, :accountId, "managedBy", metered, name, query, surfaces, regions, extract, "webhookUrl",
            "intervalMinutes", now() + make_interval(mins => "intervalMinutes")
     FROM jsonb_to_recordset(CAST(:watches AS jsonb))
       AS draft (id text, "managedBy" text, metered boolean, name text, query text, surfaces text[], regions jsonb,
                 extract jsonb, "webhookUrl" text, "intervalMinutes" integer)
     ON CONFLICT (account_id, managed_by) WHERE managed_by IS NOT NULL AND status <> 'canceled' DO NOTHING
     RETURNING ${WATCH_COLUMNS}`,
    { accountId, watches: JSON.stringify(watches) },
  );
}
