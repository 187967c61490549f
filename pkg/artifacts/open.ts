import type { Sql } from '../postgres/index.ts';
import { createFolderStore } from './folder.ts';
import { createPostgresStore } from './postgres.ts';
import type { ArtifactStore } from './store.ts';

export type ArtifactSettings = { artifactStore: 'folder' | 'postgres'; artifactDir: string };

/** The store that the settings name. */
export function openArtifactStore(settings: ArtifactSettings, sql: Sql): ArtifactStore {
  switch (settings.artifactStore) {
    case 'folder':
      return createFolderStore(settings.artifactDir);
    case 'postgres':
      return createPostgresStore(sql);
  }
}
