import type { Region, SearchMethod, Surface } from '../contract/index.ts';
import { query, type Database, type Sql } from '../postgres/index.ts';
import type { Announcement } from '../queue/index.ts';

/** A capture that this lane owns until its lease ends. Every later write names the fence. */
export type Claim = {
  captureId: string;
  searchId: string;
  accountId: string;
  fence: number;
  attempts: number;
  surface: Surface;
  region: Region | null;
  query: string;
  method: SearchMethod;
  extract: { targets: string[] } | null;
  wantsHtml: boolean;
};

/**
 * Takes an announced capture, or null when it is not there to be taken: taken by another lane, canceled, ended, waiting
 * for a later attempt, or past its time in the queue. The fence moves, so whoever held it before holds nothing now.
 */
export async function claimCapture(
  db: Database,
  announced: Omit<Announcement, 'synchronous'>,
  leaseSeconds: number,
): Promise<Claim | null> {
  return db.inTransaction(async (sql) => {
    const [claim] = await query<Claim>(
      sql,
      `UPDATE captures c
       SET state = 'running', fence = c.fence + 1, attempts = c.attempts + 1, started_at = coalesce(c.started_at, now()),
           lease_until = now() + make_interval(secs => :leaseSeconds), announce_at = NULL
       FROM searches s
       WHERE c.id = :captureId AND c.fence = :fence AND c.state = 'queued' AND c.expires_at > now() AND s.id = c.search_id
       RETURNING c.id AS "captureId", c.search_id AS "searchId", c.account_id AS "accountId", c.fence, c.attempts,
                 c.surface, c.region, s.query, s.method, s.extract, s.wants_html AS "wantsHtml"`,
      { captureId: announced.captureId, fence: announced.fence, leaseSeconds },
    );
    if (claim === undefined) return null;
    await query(sql, 'UPDATE accounts SET queued = queued - 1, running = running + 1 WHERE id = :accountId', {
      accountId: claim.accountId,
    });
    return claim;
  });
}

/** Makes the lease last again. False when the capture is no longer ours: canceled, rescued, or ended. */
export async function renewLease(
  db: Database,
  claim: Pick<Claim, 'captureId' | 'fence'>,
  leaseSeconds: number,
): Promise<boolean> {
  const rows = await query<{ id: string }>(
    db.system,
    `UPDATE captures SET lease_until = now() + make_interval(secs => :leaseSeconds)
     WHERE id = :captureId AND fence = :fence AND state = 'running' RETURNING id`,
    { captureId: claim.captureId, fence: claim.fence, leaseSeconds },
  );
  return rows.length > 0;
}

export type Retry = { captureId: string; fence: number; afterSeconds: number; queueSeconds: number };

/**
 * Puts a running capture back into the queue for another attempt, in the caller's transaction. The hold stays. False
 * when it is no longer held under that fence.
 */
export async function requeueCapture(sql: Sql, retry: Retry): Promise<boolean> {
  const [row] = await query<{ accountId: string }>(
    sql,
    `UPDATE captures
     SET state = 'queued', fence = fence + 1, lease_until = NULL,
         announce_at = now() + make_interval(secs => :afterSeconds),
         expires_at = now() + make_interval(secs => CAST(:afterSeconds AS double precision) + :queueSeconds)
     WHERE id = :captureId AND fence = :fence AND state = 'running'
     RETURNING account_id AS "accountId"`,
    retry,
  );
  if (row === undefined) return false;
  await query(sql, 'UPDATE accounts SET queued = queued + 1, running = running - 1 WHERE id = :accountId', row);
  return true;
}
