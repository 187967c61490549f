import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Connection, CustomResourceDefinition, Desired } from '../../../pkg/operator/kube/index.ts';
import { installDefinition } from './objects.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** One object of a YAML file. */
export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  [section: string]: unknown;
};

/** Every document of the YAML files of a folder of the project, subfolders excluded. */
export async function readManifests(folder: string): Promise<{ file: string; manifest: Manifest }[]> {
  const dir = join(ROOT, folder);
  const names = (await readdir(dir)).filter((name) => name.endsWith('.yaml')).toSorted();
  const found: { file: string; manifest: Manifest }[] = [];
  for (const name of names) {
    for (const document of [...parseAllDocuments(await readFile(join(dir, name), 'utf8'))]) {
      const manifest: unknown = document.toJS();
      if (!isManifest(manifest)) throw new Error(`${folder}/${name} holds something that is no object`);
      found.push({ file: `${folder}/${name}`, manifest });
    }
  }
  return found;
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null && 'kind' in value && 'metadata' in value;
}

/** Makes the API server know our kinds. */
export async function installOurKinds(connection: Connection): Promise<void> {
  for (const { manifest } of await readManifests('crds')) {
    const { metadata, ...rest } = manifest;
    const definition: Desired<CustomResourceDefinition> = { metadata, ...pickSpec(rest) };
    await installDefinition(connection, definition);
  }
}

function pickSpec(rest: Record<string, unknown>): Pick<Desired<CustomResourceDefinition>, 'spec'> {
  const { spec } = rest;
  if (typeof spec !== 'object' || spec === null) throw new Error('a definition needs a spec');
  return { spec };
}
