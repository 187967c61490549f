import type { Sql } from '../postgres/index.ts';
import { createFolderStore } from './folder.ts';
import { createPostgresStore } from './postgres.ts';
import type { ArtifactStore } from './store.ts';

export type ArtifactSettings = {
  artifactStore: 'folder' | 'postgres' | 's3';
  artifactDir: string;
  s3Endpoint: string;
  s3Bucket: string;
  s3Region: string;
  s3AccessKeyId: string;
  s3SecretAccessKey: string;
  s3ForcePathStyle: boolean;
};

/** The store that the settings name. Throws when what that store needs is not set. */
export async function openArtifactStore(settings: ArtifactSettings, sql: Sql): Promise<ArtifactStore> {
  switch (settings.artifactStore) {
    case 'folder':
      return createFolderStore(settings.artifactDir);
    case 'postgres':
      return createPostgresStore(sql);
    case 's3': {
      // The SDK is large: only a process that uses it loads it.
      const { createS3Store } = await import('./s3.ts');
      return createS3Store({
        bucket: settings.s3Bucket,
        endpoint: settings.s3Endpoint,
        region: settings.s3Region,
        accessKeyId: settings.s3AccessKeyId,
        secretAccessKey: settings.s3SecretAccessKey,
        forcePathStyle: settings.s3ForcePathStyle,
      });
    }
  }
}
