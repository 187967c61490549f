import { ServiceError } from '../contract/index.ts';
import { query, type Database } from '../postgres/index.ts';
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
