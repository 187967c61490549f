import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertHash, type ArtifactStore } from './store.ts';

/** A folder on this machine, for one machine. Files appear whole or not at all. */
export function createFolderStore(folder: string): ArtifactStore {
  const place = (sha256: string): { dir: string; file: string } => {
    assertHash(sha256);
    const dir = join(folder, sha256.slice(0, 2));
    return { dir, file: join(dir, sha256) };
  };
  return {
    put: async (sha256, bytes) => {
      const { dir, file } = place(sha256);
      await mkdir(dir, { recursive: true });
      const unfinished = `${file}.${randomUUID()}`;
      await writeFile(unfinished, bytes);
      await rename(unfinished, file);
    },
    get: async (sha256) => {
      try {
        return await readFile(place(sha256).file);
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    probe: async () => {
      await mkdir(folder, { recursive: true });
      const file = join(folder, `.probe-${randomUUID()}`);
      await writeFile(file, '');
      await stat(file);
      await rm(file);
    },
    close: () => Promise.resolve(),
  };
}

function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
