import { readFile } from 'node:fs/promises';
import { kindOf, parseManifests, readManifests, refuseTwins, type Manifest } from '../config/index.ts';
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
 * Watches may stand beside them. Throws a plain error that names the file when one can't be read, and when two lanes
 * share a name or a surface.
 */
export async function loadLanes(dir: string, options: LoadOptions = {}): Promise<CaptureLane[]> {
  const origins = Object.entries(options.replaceOrigin ?? {});
  const found = parseLanes(
    await readManifests(dir, (content) => origins.reduce((text, [from, to]) => text.replaceAll(from, to), content)),
  );
  refuseTwins(found, 'metadata.name', ({ lane }) => lane.metadata.name);
  refuseTwins(found, 'spec.surface', ({ lane }) => lane.spec.surface);
  return found.map(({ lane }) => lane);
}

/** The lanes of one file. Throws like `loadLanes`. */
export async function loadLaneFile(path: string): Promise<CaptureLane[]> {
  const lanes = parseLanes(parseManifests(await readFile(path, 'utf8'), path));
  if (lanes.length === 0) throw new Error(`${path}: holds no CaptureLane`);
  return lanes.map(({ lane }) => lane);
}

function parseLanes(manifests: readonly Manifest[]): { lane: CaptureLane; where: string }[] {
  return manifests
    .filter((manifest) => kindOf(manifest) !== 'Watch')
    .map(({ value, where }) => ({ lane: parseLane(value, where), where }));
}
