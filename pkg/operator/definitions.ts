import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { pause } from '../runtime/index.ts';
import type { Logger } from '../telemetry/index.ts';
import {
  connect,
  core,
  defineKind,
  isFailure,
  loadKubeConfig,
  resourceClient,
  type CustomResourceDefinition,
  type Desired,
  type KubeObject,
  type ResourceClient,
  type Scope,
} from './kube/index.ts';
import { captureLanes, watches } from './resources/index.ts';

/** The life of our definitions around a release of the chart: Helm itself installs them once and leaves them alone. */
export type Definitions = {
  /** Brings the definitions up to those of the `*.yaml` files in the folder. */
  apply(dir: string): Promise<void>;
  /**
   * Deletes our resources, of one namespace or of all, while a controller is there to let go of them. What none has let
   * go of after `patienceMs` goes without: an uninstall must end, also when the controller never started.
   */
  release(namespace: string | undefined, patienceMs: number): Promise<void>;
  /** Deletes each definition, unless there are still resources of it, as another release has them. */
  remove(): Promise<void>;
  close(): Promise<void>;
};

const NAME = 'search-capture-crds';
const POLL_MS = 1_000;

export function openDefinitions(log: Logger): Definitions {
  const connection = connect({ kubeConfig: loadKubeConfig(), userAgent: NAME });
  const definitions = resourceClient(connection, core.customResourceDefinitions);
  const kinds: ResourceClient<KubeObject>[] = [watches, captureLanes].map(({ apiVersion, kind, plural }) =>
    resourceClient(connection, defineKind(apiVersion, kind, plural)),
  );

  async function releaseKind(client: ResourceClient<KubeObject>, namespace: string | undefined, untilMs: number) {
    for (;;) {
      const items = await listOrNone(client, namespace === undefined ? {} : { namespace });
      if (items.length === 0) return;
      for (const { metadata } of items) {
        const key = { namespace: metadata.namespace ?? '', name: metadata.name };
        if (metadata.deletionTimestamp === undefined) await client.delete(key);
        if (Date.now() < untilMs || metadata.finalizers === undefined) continue;
        log.warn({ ...key, kind: client.kind.kind }, 'No controller let go of it; what it stands for stays');
        await client.patch(key, { type: 'merge', body: { metadata: { finalizers: null } } });
      }
      await pause(POLL_MS);
    }
  }

  return {
    apply: async (dir) => {
      const names = (await readdir(dir)).filter((name) => name.endsWith('.yaml'));
      for (const name of names.toSorted()) {
        const definition: unknown = parse(await readFile(join(dir, name), 'utf8'));
        if (!isDefinition(definition)) throw new Error(`${name} is not a CustomResourceDefinition`);
        await definitions.apply(definition, { fieldManager: NAME });
        log.info({ name: definition.metadata.name }, 'Applied');
      }
    },
    release: async (namespace, patienceMs) => {
      for (const client of kinds) await releaseKind(client, namespace, Date.now() + patienceMs);
      log.info({ namespace }, 'No resource is left');
    },
    remove: async () => {
      for (const client of kinds) {
        const { plural } = client.kind;
        const left = await listOrNone(client, {});
        if (left.length > 0) {
          log.warn({ plural, left: left.length }, 'There are resources of this definition, so it stays');
          continue;
        }
        await definitions.delete({ namespace: '', name: `${plural}.searchcapture.io` });
        log.info({ plural }, 'Deleted');
      }
    },
    close: () => connection.close(),
  };
}

function isDefinition(value: unknown): value is Desired<CustomResourceDefinition> & { kind: string } {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'CustomResourceDefinition';
}

/** Where the definition is gone, so are its resources. */
async function listOrNone<T extends KubeObject>(client: ResourceClient<T>, scope: Scope): Promise<readonly T[]> {
  try {
    return (await client.list(scope)).items;
  } catch (error) {
    if (isFailure(error, 'notFound')) return [];
    throw error;
  }
}
