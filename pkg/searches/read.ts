import {
  isTerminal,
  ServiceError,
  type CaptureState,
  type Envelope,
  type JobState,
  type Surface,
} from '../contract/index.ts';
import { query, type Database, type Reader } from '../postgres/index.ts';

export type ChildSummary = { id: string; surface: Surface; region: string; status: CaptureState };

/** The roll-up of a parent (spec 2.4). */
export type ParentView = {
  job: { id: string; status: JobState; children: string[] };
  children: ChildSummary[];
  credits: { creditsToCharge: number; creditsCharged: number };
};

export async function readParent(db: Database, accountId: string, jobId: string): Promise<ParentView> {
  return db.readAsTenant(accountId, async (sql) => {
    const [parent] = await query<{ state: JobState; creditsToCharge: number }>(
      sql,
      `SELECT state, credits_to_charge AS "creditsToCharge" FROM searches WHERE id = :jobId AND account_id = :accountId`,
      { jobId, accountId },
    );
    if (parent === undefined) throw new ServiceError('JOB_NOT_FOUND');
    const rows = await query<ChildSummary & { charged: number }>(
      sql,
      `SELECT id, surface, region_key AS region, state AS status, credits_charged AS charged
       FROM captures WHERE search_id = :jobId AND account_id = :accountId ORDER BY position`,
      { jobId, accountId },
    );
    return {
      job: { id: jobId, status: parent.state, children: rows.map(({ id }) => id) },
      children: rows.map(({ charged: _, ...child }) => child),
      credits: {
        creditsToCharge: parent.creditsToCharge,
        creditsCharged: rows.reduce((total, { charged }) => total + charged, 0),
      },
    };
  });
}

/** A child: its envelope once it has ended, before that only its state. */
export type ChildView = { ended: Envelope; proofKey: string | null } | { open: { id: string; status: CaptureState } };

export async function readChild(
  db: Database,
  accountId: string,
  captureId: string,
  withProof: boolean,
): Promise<ChildView> {
  return db.readAsTenant(accountId, async (sql) => {
    const [row] = await query<{ status: CaptureState; envelope: Envelope | null }>(
      sql,
      `SELECT c.state AS status, e.envelope
       FROM captures c LEFT JOIN envelopes e ON e.capture_id = c.id
       WHERE c.id = :captureId AND c.account_id = :accountId`,
      { captureId, accountId },
    );
    if (row === undefined) throw new ServiceError('JOB_NOT_FOUND');
    if (row.envelope === null || !isTerminal(row.status)) return { open: { id: captureId, status: row.status } };
    const proofs = withProof ? await readProofKeys(sql, accountId, [captureId]) : new Map<string, string>();
    return { ended: row.envelope, proofKey: proofs.get(captureId) ?? null };
  });
}

/** Every ended child of a search in fan-out order, with the key of its proof page where there is one. */
export async function readEnvelopes(
  db: Database,
  accountId: string,
  jobId: string,
): Promise<{ envelope: Envelope; proofKey: string | null }[]> {
  return db.readAsTenant(accountId, async (sql) => {
    const rows = await query<{ id: string; envelope: Envelope }>(
      sql,
      `SELECT c.id, e.envelope FROM captures c JOIN envelopes e ON e.capture_id = c.id
       WHERE c.search_id = :jobId AND c.account_id = :accountId ORDER BY c.position`,
      { jobId, accountId },
    );
    const proofs = await readProofKeys(
      sql,
      accountId,
      rows.map(({ id }) => id),
    );
    return rows.map(({ id, envelope }) => ({ envelope, proofKey: proofs.get(id) ?? null }));
  });
}

async function readProofKeys(
  sql: Reader,
  accountId: string,
  captureIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await query<{ captureId: string; key: string }>(
    sql,
    `SELECT capture_id AS "captureId", key FROM artifacts
     WHERE capture_id = ANY(:captureIds) AND account_id = :accountId AND served AND content_type = 'text/html'`,
    { captureIds, accountId },
  );
  return new Map(rows.map(({ captureId, key }) => [captureId, key]));
}

/** The parent's state alone; null when the account has no such job. */
export async function readJobState(db: Database, accountId: string, jobId: string): Promise<JobState | null> {
  return db.readAsTenant(accountId, async (sql) => {
    const [row] = await query<{ state: JobState }>(
      sql,
      'SELECT state FROM searches WHERE id = :jobId AND account_id = :accountId',
      { jobId, accountId },
    );
    return row?.state ?? null;
  });
}
