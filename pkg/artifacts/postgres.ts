import { query, type Sql } from '../postgres/index.ts';
import { assertHash, type ArtifactStore } from './store.ts';

/** The database itself: nothing more to run, for installations whose proof pages are few. */
export function createPostgresStore(sql: Sql): ArtifactStore {
  return {
    put: async (sha256, bytes) => {
      assertHash(sha256);
      await query(sql, 'INSERT INTO artifact_blobs (sha256, bytes) VALUES (:sha256, :bytes) ON CONFLICT DO NOTHING', {
        sha256,
        bytes: Buffer.from(bytes),
      });
    },
    get: async (sha256) => {
      assertHash(sha256);
      const [row] = await query<{ bytes: Buffer }>(sql, 'SELECT bytes FROM artifact_blobs WHERE sha256 = :sha256', {
        sha256,
      });
      return row?.bytes ?? null;
    },
    probe: async () => {
      await query(sql, 'SELECT 1 FROM artifact_blobs LIMIT 1');
    },
    close: () => Promise.resolve(),
  };
}
