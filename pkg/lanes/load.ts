import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { parseLane, type CaptureLane } from './lane.ts';

export type LoadOptions = {
  /**
   * Origins to write in place of others, for example `{'http://127.0.0.1:8090': url}` where the demo runs on another
   * port than the documents say.
   */
  replaceOrigin?: Readonly<Record<string, string>>;
};

/**
 * Reads every CaptureLane of the `*.yaml` files in `dir`, subfolders excluded, ordered by file name and position.
 * Throws a plain error that names the file when one can't be read, and when two lanes share a name or a surface.
 */
export async function loadLanes(dir: string, options: LoadOptions = {}): Promise<CaptureLane[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  // A mounted ConfigMap shows its files as links, so only folders are left out.
  const names = entries
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.yaml'))
    .map((entry) => entry.name);
  const found: { lane: CaptureLane; path: string }[] = [];
  for (const name of names.toSorted()) {
    const path = join(dir, name);
    const content = replaceOrigins(await readFile(path, 'utf8'), options.replaceOrigin ?? {});
    found.push(...parseFile(content, path));
  }
  refuseTwins(found, 'metadata.name', (lane) => lane.metadata.name);
  refuseTwins(found, 'spec.surface', (lane) => lane.spec.surface);
  return found.map(({ lane }) => lane);
}

/** The lanes of one file. Throws like `loadLanes`. */
export async function loadLaneFile(path: string): Promise<CaptureLane[]> {
  const lanes = parseFile(await readFile(path, 'utf8'), path).map(({ lane }) => lane);
  if (lanes.length === 0) throw new Error(`${path}: holds no document`);
  return lanes;
}

function replaceOrigins(content: string, origins: Readonly<Record<string, string>>): string {
  return Object.entries(origins).reduce((text, [from, to]) => text.replaceAll(from, to), content);
}

function parseFile(content: string, path: string): { lane: CaptureLane; path: string }[] {
  const found: { lane: CaptureLane; path: string }[] = [];
  for (const [index, document] of [...parseAllDocuments(content)].entries()) {
    const where = index === 0 ? path : `${path} (document ${index + 1})`;
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(`${where}: ${problem.message}`, { cause: problem });
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (value !== null) found.push({ lane: parseLane(value, where), path: where });
  }
  return found;
}

function refuseTwins(
  found: readonly { lane: CaptureLane; path: string }[],
  field: string,
  read: (lane: CaptureLane) => string,
): void {
  const seen = new Map<string, string>();
  for (const { lane, path } of found) {
    const value = read(lane);
    const before = seen.get(value);
    if (before !== undefined) throw new Error(`${path}: ${field} "${value}" is taken already by ${before}`);
    seen.set(value, path);
  }
}
