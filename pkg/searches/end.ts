import { newId, type ChildError, type Envelope, type SearchMethod, type TerminalState } from '../contract/index.ts';
import { settle } from '../credits/index.ts';
import { query, type Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';
import { buildDelivery, insertDelivery } from '../webhooks/index.ts';
import { buildEnvelope, type EndedCapture, type Findings } from './envelope.ts';

/** Channel that tells the id of a search whose last child ended. */
export const SEARCH_ENDED = 'search_ended';
/** Channel that tells the id of a search some of whose children were canceled. */
export const SEARCH_CANCELED = 'search_canceled';

/** How one child ends. */
export type Ending = {
  captureId: string;
  /** The fence that it was last seen with; any step since then has moved it. Null ends it whoever holds it. */
  fence: number | null;
  state: TerminalState;
  outcome: string | null;
  billed: boolean;
  error: ChildError | null;
  findings: Findings | null;
};

type EndedRow = EndedCapture & {
  accountId: string;
  wasRunning: boolean;
  synchronous: boolean;
  method: SearchMethod;
  regionKey: string;
};

/**
 * Ends children of ONE search, in the caller's transaction: their state, the parent's counts, the hold and the charge,
 * usage, the envelope and the webhook. A child that is not there to be ended (it ended before, or a newer fence holds
 * it) is left alone and missing from the answer. This is the only way a capture ends; everything that must happen
 * exactly once hangs on its guarded UPDATE. Locks are taken in the order captures, search, account, everywhere.
 */
export async function endCaptures(
  sql: Sql,
  clock: Clock,
  searchId: string,
  endings: readonly Ending[],
): Promise<Envelope[]> {
  const rows = await endRows(sql, searchId, endings);
  const [first] = rows;
  if (first === undefined) return [];
  const webhook = await countEnded(sql, searchId, rows);
  await settle(sql, {
    accountId: first.accountId,
    released: sum(rows, ({ price }) => price),
    charges: rows
      .filter(({ creditsCharged }) => creditsCharged > 0)
      .map(({ id, creditsCharged }) => ({ captureId: id, amount: creditsCharged })),
    leftQueue: rows.filter(({ wasRunning }) => !wasRunning).length,
    stoppedRunning: rows.filter(({ wasRunning }) => wasRunning).length,
    leftSync: rows.filter(({ synchronous }) => synchronous).length,
  });
  await countUsage(sql, first.accountId, rows);
  const byId = new Map(endings.map((ending) => [ending.captureId, ending]));
  const envelopes = rows.map((row) =>
    buildEnvelope(row, byId.get(row.id)?.findings ?? null, byId.get(row.id)?.error ?? null),
  );
  await insertEnvelopes(sql, first.accountId, envelopes);
  if (webhook !== null) await announceByWebhook(sql, clock, first.accountId, webhook, envelopes);
  return envelopes;
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

async function endRows(sql: Sql, searchId: string, endings: readonly Ending[]): Promise<EndedRow[]> {
  return query<EndedRow>(
    sql,
    // Locked first, so that "was it running" is read from the version that is then changed.
    `WITH target AS (
       SELECT c.id, c.state, e.state AS to_state, e.billed, e.outcome, e.code, e.message
       FROM captures c
       JOIN jsonb_to_recordset(CAST(:endings AS jsonb))
         AS e("captureId" text, fence bigint, state text, billed boolean, outcome text, code text, message text)
         ON e."captureId" = c.id
       WHERE c.search_id = :searchId AND c.state IN ('queued', 'running')
         AND (e.fence IS NULL OR c.fence = e.fence)
       ORDER BY c.id FOR UPDATE OF c
     )
     UPDATE captures c
     SET state = t.to_state, outcome = t.outcome, error_code = t.code, error_message = t.message, ended_at = now(),
         fence = c.fence + 1,
         lease_until = NULL, announce_at = NULL, credits_held = 0,
         credits_charged = CASE WHEN t.billed THEN c.price ELSE 0 END
     FROM target t JOIN searches s ON s.id = :searchId
     WHERE c.id = t.id
     RETURNING c.id, c.search_id AS "searchId", c.account_id AS "accountId", c.surface, c.region, c.region_key AS "regionKey",
               c.state, c.attempts, c.price, c.credits_charged AS "creditsCharged", c.created_at AS "createdAt",
               c.started_at AS "startedAt", c.ended_at AS "endedAt", c.synchronous, t.state = 'running' AS "wasRunning",
               s.query, s.method`,
    {
      searchId,
      endings: JSON.stringify(
        endings.map(({ error, findings: _, ...rest }) => ({ ...rest, code: error?.code, message: error?.error })),
      ),
    },
  );
}

type WebhookTarget = { url: string; secretCiphertext: string | null };

/** Raises the parent's counts; its state follows by itself. Tells waiters when that was the last child. */
async function countEnded(sql: Sql, searchId: string, rows: readonly EndedRow[]): Promise<WebhookTarget | null> {
  const count = (state: TerminalState) => rows.filter((row) => row.state === state).length;
  const [parent] = await query<{ state: string; url: string | null; secretCiphertext: string | null }>(
    sql,
    `UPDATE searches
     SET completed_count = completed_count + :completed, partial_count = partial_count + :partial,
         failed_count = failed_count + :failed, canceled_count = canceled_count + :canceled,
         expired_count = expired_count + :expired
     WHERE id = :searchId
     RETURNING state, webhook_url AS url, webhook_secret_ciphertext AS "secretCiphertext"`,
    {
      searchId,
      completed: count('completed'),
      partial: count('partial'),
      failed: count('failed'),
      canceled: count('canceled'),
      expired: count('expired'),
    },
  );
  if (parent === undefined) throw new Error(`the search ${searchId} of an ended capture is gone`);
  if (parent.state !== 'processing')
    await query(sql, 'SELECT pg_notify(:channel, :searchId)', { channel: SEARCH_ENDED, searchId });
  return parent.url === null ? null : { url: parent.url, secretCiphertext: parent.secretCiphertext };
}

/** Counts captures that were started, whatever their outcome (design, "Credits"). */
async function countUsage(sql: Sql, accountId: string, rows: readonly EndedRow[]): Promise<void> {
  const started = rows.filter(({ startedAt }) => startedAt !== null);
  if (started.length === 0) return;
  const calls = started.map(({ surface, regionKey, method, creditsCharged, endedAt }) => ({
    day: endedAt.toISOString().slice(0, 10),
    surface,
    region_key: regionKey,
    method,
    credits: creditsCharged,
  }));
  await query(
    sql,
    `INSERT INTO usage_daily (account_id, day, surface, region_key, method, call_count, credits_charged)
     SELECT :accountId, u.day, u.surface, u.region_key, u.method, count(*), sum(u.credits)
     FROM jsonb_to_recordset(CAST(:calls AS jsonb)) AS u(day date, surface text, region_key text, method text, credits int)
     GROUP BY u.day, u.surface, u.region_key, u.method
     ORDER BY u.day, u.surface, u.region_key, u.method
     ON CONFLICT (account_id, day, surface, region_key, method) DO UPDATE
     SET call_count = usage_daily.call_count + excluded.call_count,
         credits_charged = usage_daily.credits_charged + excluded.credits_charged`,
    { accountId, calls: JSON.stringify(calls) },
  );
}

async function insertEnvelopes(sql: Sql, accountId: string, envelopes: readonly Envelope[]): Promise<void> {
  await query(
    sql,
    `INSERT INTO envelopes (capture_id, account_id, envelope)
     SELECT e.envelope -> 'job' ->> 'id', :accountId, e.envelope
     FROM json_array_elements(CAST(:envelopes AS json)) AS e(envelope)`,
    { accountId, envelopes: JSON.stringify(envelopes) },
  );
}

async function announceByWebhook(
  sql: Sql,
  clock: Clock,
  accountId: string,
  webhook: WebhookTarget,
  envelopes: readonly Envelope[],
): Promise<void> {
  for (const envelope of envelopes) {
    const eventId = newId('evt', clock.nowMs());
    const createdAt = envelope.job.completedAt ?? new Date(clock.nowMs()).toISOString();
    await insertDelivery(sql, {
      id: eventId,
      accountId,
      captureId: envelope.job.id,
      url: webhook.url,
      secretCiphertext: webhook.secretCiphertext,
      ...buildDelivery({ eventId, envelope, createdAt }),
    });
  }
}
