import { readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listCommandLines } from './processes.ts';

const PREFIX = 'playwright_chromiumdev_profile-';
/** A folder is made before its browser is started: one so young may belong to a browser on its way up. */
const MIN_AGE_MS = 60_000;

/**
 * Removes profile folders that browsers of killed processes left behind: each is up to hundreds of MiB, and in a pod
 * the folder for temporary files outlives the container. A folder that a running process names is left alone.
 */
export async function removeLeakedProfiles(nowMs: number, folder = tmpdir()): Promise<number> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(PREFIX));
  if (names.length === 0) return 0;
  const commandLines = await listCommandLines();
  // Without /proc nobody can tell which folders are in use.
  if (commandLines.length === 0) return 0;
  let removed = 0;
  for (const name of names) {
    const path = join(folder, name);
    if (commandLines.some((line) => line.includes(path)) || (await ageMs(path, nowMs)) < MIN_AGE_MS) continue;
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}

async function ageMs(path: string, nowMs: number): Promise<number> {
  try {
    return nowMs - (await stat(path)).mtimeMs;
  } catch {
    // Its owner removed it between the listing and now.
    return 0;
  }
}
