import { ServiceError } from '../contract/index.ts';
import { query, type Database, type Sql } from '../postgres/index.ts';
import type { ArtifactStore } from './store.ts';

export type Artifact = { bytes: Uint8Array; contentType: string; sha256: string };

/**
 * An artifact of the account by its exact key; `null` bytes are not read when the client has them already (`knownTag`).
 * Throws `ARTIFACT_NOT_FOUND` for a key that does not exist, is another tenant's, or is not to be served.
 */
export async function readArtifact(
  deps: { db: Database; store: ArtifactStore },
  accountId: string,
  key: string,
  isKnown: (sha256: string) => boolean,
): Promise<Artifact | { unchanged: true; sha256: string }> {
  const row = key.includes('\0') ? undefined : await findRow(deps.db, accountId, key);
  if (row === undefined) throw new ServiceError('ARTIFACT_NOT_FOUND');
  if (isKnown(row.sha256)) return { unchanged: true, sha256: row.sha256 };
  const bytes = await deps.store.get(row.sha256);
  if (bytes === null) throw new Error(`the artifact store has lost ${row.sha256}`);
  return { ...row, bytes };
}

async function findRow(
  db: Database,
  accountId: string,
  key: string,
): Promise<{ contentType: string; sha256: string } | undefined> {
  const [row] = await db.readAsTenant(accountId, (sql) =>
    query<{ contentType: string; sha256: string }>(
      sql,
      `SELECT content_type AS "contentType", sha256 FROM artifacts WHERE key = :key AND account_id = :accountId AND served`,
      { key, accountId },
    ),
  );
  return row;
}

/** The picture that was kept of a failed capture's page, for the operator; null where none was. Never for a tenant. */
export async function readPicture(sql: Sql, store: ArtifactStore, captureId: string): Promise<Uint8Array | null> {
  const [row] = await query<{ sha256: string }>(
    sql,
    `SELECT sha256 FROM artifacts WHERE capture_id = :captureId AND NOT served ORDER BY created_at DESC LIMIT 1`,
    { captureId },
  );
  return row === undefined ? null : await store.get(row.sha256);
}
