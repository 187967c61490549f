import { createHash } from 'node:crypto';
import { newId, ServiceError, type Region, type SearchMethod, type Surface } from '../contract/index.ts';
import {
  findShortage,
  readLoad,
  reserve,
  type AccountLoad,
  type Ceilings,
  type Reservation,
} from '../credits/index.ts';
import { query, type Database, type Reader } from '../postgres/index.ts';
import type { Announcement } from '../queue/index.ts';
import type { Clock } from '../runtime/index.ts';
import { planSearch, type SearchPlan } from './plan.ts';

/** A search that passed validation, with what its route knows. */
export type NewSearch = {
  query: string;
  surfaces: readonly Surface[];
  regions: readonly Region[];
  extract: { targets: string[] } | null;
  wantsHtml: boolean;
  /** `sealSecret` encrypts the inline secret for this job, null when the account's managed one signs. */
  webhook: { url: string; sealSecret: ((jobId: string) => string) | null } | null;
  idempotency: { key: string; fingerprint: Buffer } | null;
  method: SearchMethod;
  /** How long each of its children may wait in the queue. */
  queueSeconds: (surface: Surface) => number;
};

export type Acceptor = { accountId: string; metered: boolean; ceilings: Ceilings };

export type Accepted = {
  jobId: string;
  children: string[];
  creditsToCharge: number;
  replayed: boolean;
  announcements: Announcement[];
};

/** What became of one search of a submit. A conflict concerns only itself; credits and room concern the whole submit. */
export type Verdict = { accepted: Accepted } | { rejected: ServiceError };

export type AcceptDeps = { db: Database; clock: Clock; priceOf: (surface: Surface) => number };

/**
 * How long the dispatcher leaves a fresh capture to the process that accepted it, which announces it right after the
 * commit: longer than most wait for a lane, as a second announcement is work for nothing. That much is lost when the
 * process dies in between; when it can't reach Redis, it says so at once (`announceSoon`).
 */
const ANNOUNCE_AFTER_SECONDS = 10;

/**
 * Accepts all searches of one submit in one transaction: idempotency keys, parents, children, credit hold and queue
 * room. Either everything that can be accepted is, or nothing is and a `ServiceError` tells why
 * (`INSUFFICIENT_CREDITS`, `QUEUE_CAPACITY_EXCEEDED`, `CONCURRENCY_LIMIT_EXCEEDED`, `SUBMISSION_FAILED`).
 * The number of statements does not depend on the number of searches. Verdicts keep the order of `searches`; `load` is
 * how the account stands then.
 */
export async function acceptSearches(
  deps: AcceptDeps,
  acceptor: Acceptor,
  searches: readonly NewSearch[],
): Promise<{ verdicts: Verdict[]; load: AccountLoad }> {
  const drafts = draftSearches(deps, acceptor, searches);
  // Without keys there is but one statement that writes, and no need of a transaction around it: the account's row,
  // where all submits of an account meet, is not locked while packets travel.
  const keyed = drafts.some(({ keyHash }) => keyHash !== null);
  const accept = (sql: Reader) => acceptDrafts(sql, acceptor, drafts, ANNOUNCE_AFTER_SECONDS);
  try {
    return keyed
      ? await deps.db.asTenant(acceptor.accountId, accept)
      : await deps.db.writeAsTenant(acceptor.accountId, accept);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('SUBMISSION_FAILED', undefined, { cause: error });
  }
}

/**
 * The same inside the caller's transaction, which must be one `asTenant` of the acceptor's account: what the caller
 * writes beside it stands and falls with it. Once this has thrown, that transaction must be rolled back. The captures
 * are due to be announced at once: the caller leaves that to the dispatcher.
 */
export async function acceptSearchesIn(
  sql: Reader,
  deps: Omit<AcceptDeps, 'db'>,
  acceptor: Acceptor,
  searches: readonly NewSearch[],
): Promise<Verdict[]> {
  const { verdicts } = await acceptDrafts(sql, acceptor, draftSearches(deps, acceptor, searches), 0);
  return verdicts;
}

type Draft = { jobId: string; search: NewSearch; plan: SearchPlan; keyHash: Buffer | null };

function draftSearches(deps: Omit<AcceptDeps, 'db'>, acceptor: Acceptor, searches: readonly NewSearch[]): Draft[] {
  const priceOf = acceptor.metered ? deps.priceOf : () => 0;
  return searches.map((search) => {
    const jobId = newId('job', deps.clock.nowMs());
    return {
      jobId,
      search,
      plan: planSearch(jobId, search, priceOf),
      keyHash: search.idempotency === null ? null : hashKey(search.idempotency.key),
    };
  });
}

async function acceptDrafts(
  sql: Reader,
  acceptor: Acceptor,
  drafts: readonly Draft[],
  announceAfterSeconds: number,
): Promise<{ verdicts: Verdict[]; load: AccountLoad }> {
  const claims = await claimKeys(sql, acceptor.accountId, drafts);
  const fresh = drafts.filter((draft) => claims.owner(draft) === draft.jobId);
  const load =
    fresh.length === 0
      ? await readLoad(sql, acceptor.accountId)
      : await placeSearches(sql, acceptor, { searches: fresh, announceAfterSeconds });
  const replays = await readReplays(
    sql,
    acceptor.accountId,
    drafts.filter((draft) => !fresh.includes(draft)).map(claims.owner),
  );
  const verdicts = drafts.map((draft): Verdict => {
    if (fresh.includes(draft)) return { accepted: describe(draft) };
    if (claims.conflicts(draft)) return { rejected: new ServiceError('IDEMPOTENCY_CONFLICT') };
    const original = replays.get(claims.owner(draft));
    if (original === undefined) throw new Error(`the search ${claims.owner(draft)} of an idempotency key is gone`);
    return { accepted: original };
  });
  return { verdicts, load };
}

function describe({ jobId, search, plan }: Draft): Accepted {
  const synchronous = search.method === 'sync';
  return {
    jobId,
    children: plan.children.map(({ id }) => id),
    creditsToCharge: plan.creditsToCharge,
    replayed: false,
    announcements: plan.children.map(({ id, surface }) => ({ captureId: id, surface, fence: 0, synchronous })),
  };
}

type KeyClaims = {
  /** The job that the draft's key stands for: its own when it came first, or has no key. */
  owner: (draft: Draft) => string;
  conflicts: (draft: Draft) => boolean;
};

/**
 * Takes the drafts' idempotency keys. A concurrent submit with the same key makes the INSERT wait for its commit; then
 * its row is there to be replayed, or, if it rolled back, the key is ours. There is no "in progress" to get stuck in.
 */
async function claimKeys(sql: Reader, accountId: string, drafts: readonly Draft[]): Promise<KeyClaims> {
  const keyed = drafts.flatMap(({ jobId, keyHash, search }) =>
    keyHash === null || search.idempotency === null
      ? []
      : [{ hash: keyHash.toString('hex'), fingerprint: search.idempotency.fingerprint.toString('hex'), jobId }],
  );
  const rows = new Map<string, { fingerprint: string; jobId: string }>();
  if (keyed.length > 0) {
    const bindings = { accountId, keyed: JSON.stringify(keyed) };
    await query(
      sql,
      // In one order for everybody: two batches that share keys must not wait for each other in a ring.
      `INSERT INTO idempotency_keys (account_id, key_hash, fingerprint, search_id)
       SELECT :accountId, hash, fingerprint, job_id FROM (
         SELECT DISTINCT ON (k.hash) decode(k.hash, 'hex') AS hash, decode(k.fingerprint, 'hex') AS fingerprint, k."jobId" AS job_id
         FROM ROWS FROM (jsonb_to_recordset(CAST(:keyed AS jsonb)) AS (hash text, fingerprint text, "jobId" text)) WITH ORDINALITY AS k
         ORDER BY k.hash, k.ordinality
       ) first_of_each ORDER BY hash
       ON CONFLICT (account_id, key_hash) DO NOTHING`,
      bindings,
    );
    const held = await query<{ hash: string; fingerprint: string; jobId: string }>(
      sql,
      `SELECT encode(key_hash, 'hex') AS hash, encode(fingerprint, 'hex') AS fingerprint, search_id AS "jobId"
       FROM idempotency_keys
       WHERE account_id = :accountId
         AND key_hash IN (SELECT decode(k.hash, 'hex') FROM jsonb_to_recordset(CAST(:keyed AS jsonb)) AS k(hash text))`,
      bindings,
    );
    for (const { hash, ...row } of held) rows.set(hash, row);
  }
  const rowOf = (draft: Draft) => (draft.keyHash === null ? undefined : rows.get(draft.keyHash.toString('hex')));
  return {
    owner: (draft) => rowOf(draft)?.jobId ?? draft.jobId,
    conflicts: (draft) => {
      const row = rowOf(draft);
      return row !== undefined && row.fingerprint !== draft.search.idempotency?.fingerprint.toString('hex');
    },
  };
}

function hashKey(idempotencyKey: string): Buffer {
  return createHash('sha256').update(idempotencyKey).digest();
}

/** Whether a search of the account has taken this idempotency key already. */
export async function isKeyTaken(sql: Reader, accountId: string, idempotencyKey: string): Promise<boolean> {
  const rows = await query(
    sql,
    'SELECT 1 FROM idempotency_keys WHERE account_id = :accountId AND key_hash = :keyHash',
    { accountId, keyHash: hashKey(idempotencyKey) },
  );
  return rows.length > 0;
}

/** The reservation that all fresh searches of the submit need together. */
function sumUp(fresh: readonly Draft[], ceilings: Ceilings): Reservation {
  return {
    credits: fresh.reduce((sum, { plan }) => sum + plan.creditsToCharge, 0),
    captures: fresh.reduce((sum, { plan }) => sum + plan.children.length, 0),
    synchronous: fresh.some(({ search }) => search.method === 'sync'),
    ceilings,
  };
}

// What was too little a moment ago may be there when it is looked at: then it is tried again, a few times.
const PLACING_ATTEMPTS = 3;

type Fresh = { searches: readonly Draft[]; announceAfterSeconds: number };

async function placeSearches(sql: Reader, acceptor: Acceptor, fresh: Fresh): Promise<AccountLoad> {
  const wanted = sumUp(fresh.searches, acceptor.ceilings);
  for (let attempt = 0; attempt < PLACING_ATTEMPTS; attempt += 1) {
    const placed = await insertIfRoom(sql, acceptor.accountId, wanted, fresh);
    if (placed !== null) return placed;
    refuseIfShort(await readLoad(sql, acceptor.accountId), wanted);
  }
  throw new ServiceError('SUBMISSION_FAILED');
}

function refuseIfShort(load: AccountLoad, wanted: Reservation): void {
  const { balance, held, queued, syncInFlight } = load;
  const { credits, captures, ceilings } = wanted;
  switch (findShortage(load, wanted)) {
    case 'credits':
      throw new ServiceError('INSUFFICIENT_CREDITS', `This needs ${credits} credits; ${balance - held} are available.`);
    case 'queue':
      throw new ServiceError(
        'QUEUE_CAPACITY_EXCEEDED',
        `${queued} captures wait; with ${captures} more the ceiling of ${ceilings.queued} would be exceeded.`,
        { headers: { 'Retry-After': QUEUE_RETRY_SECONDS } },
      );
    case 'concurrency':
      throw new ServiceError(
        'CONCURRENCY_LIMIT_EXCEEDED',
        `${syncInFlight} synchronous captures are in flight; the ceiling is ${ceilings.syncInFlight}.`,
        { headers: { 'Retry-After': SYNC_RETRY_SECONDS } },
      );
    case null:
  }
}

// How soon there may be room: a capture takes seconds, a queue at its ceiling drains a little in the same time.
const SYNC_RETRY_SECONDS = '2';
const QUEUE_RETRY_SECONDS = '10';

/** The hold, all parents and all children in one statement; null, and nothing written, when something is short. */
async function insertIfRoom(
  sql: Reader,
  accountId: string,
  wanted: Reservation,
  { searches, announceAfterSeconds }: Fresh,
): Promise<AccountLoad | null> {
  const room = reserve(wanted);
  const [load] = await query<AccountLoad>(
    sql,
    `WITH room AS (${room.sql}),
     parents AS (
       INSERT INTO searches (id, account_id, query, method, surfaces, extract, wants_html, webhook_url,
                             webhook_secret_ciphertext, child_count, credits_to_charge)
       SELECT s.id, :accountId, s.query, s.method, s.surfaces, s.extract, s.wants_html, s.webhook_url,
              s.webhook_secret_ciphertext, s.child_count, s.credits_to_charge
       FROM room, jsonb_to_recordset(CAST(:parents AS jsonb)) AS s(id text, query text, method text, surfaces text[],
            extract jsonb, wants_html boolean, webhook_url text, webhook_secret_ciphertext text, child_count int,
            credits_to_charge int)
     ),
     children AS (
       INSERT INTO captures (id, search_id, account_id, position, surface, region_key, region, synchronous, price,
                             credits_held, announce_at, expires_at)
       SELECT c.id, c.search_id, :accountId, c.position, c.surface, c.region_key, c.region, c.synchronous, c.price,
              c.price, now() + make_interval(secs => :announceAfterSeconds), now() + make_interval(secs => c.queue_seconds)
       FROM room, jsonb_to_recordset(CAST(:children AS jsonb)) AS c(id text, search_id text, position int, surface text,
            region_key text, region jsonb, synchronous boolean, price int, queue_seconds double precision)
     )
     SELECT * FROM room`,
    {
      ...room.bindings,
      accountId,
      announceAfterSeconds,
      parents: JSON.stringify(searches.map(describeParent)),
      children: JSON.stringify(searches.flatMap(describeChildren)),
    },
  );
  return load ?? null;
}

function describeParent({ jobId, search, plan }: Draft): object {
  return {
    id: jobId,
    query: search.query,
    method: search.method,
    surfaces: search.surfaces,
    extract: search.extract,
    wants_html: search.wantsHtml,
    webhook_url: search.webhook?.url ?? null,
    webhook_secret_ciphertext: search.webhook?.sealSecret?.(jobId) ?? null,
    child_count: plan.children.length,
    credits_to_charge: plan.creditsToCharge,
  };
}

function describeChildren({ jobId, search, plan }: Draft): object[] {
  return plan.children.map((child) => ({
    id: child.id,
    search_id: jobId,
    position: child.position,
    surface: child.surface,
    region_key: child.regionKey,
    region: child.region,
    synchronous: search.method === 'sync',
    price: child.price,
    queue_seconds: search.queueSeconds(child.surface),
  }));
}

/** The original accept objects of searches that are replayed (spec 4.1). */
async function readReplays(sql: Reader, accountId: string, jobIds: readonly string[]): Promise<Map<string, Accepted>> {
  if (jobIds.length === 0) return new Map();
  const rows = await query<{ jobId: string; creditsToCharge: number; children: string[] }>(
    sql,
    `SELECT s.id AS "jobId", s.credits_to_charge AS "creditsToCharge",
            array_agg(c.id ORDER BY c.position) AS children
     FROM searches s JOIN captures c ON c.search_id = s.id
     WHERE s.account_id = :accountId AND s.id = ANY(:jobIds) GROUP BY s.id`,
    { accountId, jobIds },
  );
  return new Map(rows.map((row) => [row.jobId, { ...row, replayed: true, announcements: [] }]));
}
