import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

/** One document of a manifest, as `kubectl apply` would take it. */
export type Manifest = {
  value: unknown;
  /** Its file, and its place there if it is not the first. */
  where: string;
};

/**
 * The documents of the `*.yaml` files in `dir`, subfolders excluded, ordered by file name and position. `rewrite` is
 * applied to each file before it is read. Throws a plain error that names the file when one can't be read.
 */
export async function readManifests(
  dir: string,
  rewrite: (content: string) => string = (content) => content,
): Promise<Manifest[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  // A mounted ConfigMap shows its files as links, so only folders are left out.
  const names = entries
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.yaml'))
    .map((entry) => entry.name);
  const found: Manifest[] = [];
  for (const name of names.toSorted()) {
    const path = join(dir, name);
    found.push(...parseManifests(rewrite(await readFile(path, 'utf8')), path));
  }
  return found;
}

/** The documents of one file's content; empty ones are left out. Throws like `readManifests`. */
export function parseManifests(content: string, path: string): Manifest[] {
  const found: Manifest[] = [];
  for (const [index, document] of [...parseAllDocuments(content)].entries()) {
    const where = index === 0 ? path : `${path} (document ${index + 1})`;
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(`${where}: ${problem.message}`, { cause: problem });
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (value !== null) found.push({ value, where });
  }
  return found;
}

/** What `kind` says; null where there is none. */
export function kindOf({ value }: Manifest): string | null {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return null;
  return typeof value.kind === 'string' ? value.kind : null;
}

/** Throws when two documents have the same name, or whatever else `read` tells; names both places. */
export function refuseTwins<T extends { where: string }>(
  found: readonly T[],
  field: string,
  read: (one: T) => string,
): void {
  const seen = new Map<string, string>();
  for (const one of found) {
    const value = read(one);
    const before = seen.get(value);
    if (before !== undefined) throw new Error(`${one.where}: ${field} "${value}" is taken already by ${before}`);
    seen.set(value, one.where);
  }
}
