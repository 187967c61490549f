import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { loadSettings } from '../../pkg/config/index.ts';
import { connect, core, defineKind, isFailure, loadKubeConfig, resourceClient } from '../../pkg/operator/kube/index.ts';
import { pause } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';

// The life of our custom resource definitions around a release of the chart, which Helm itself installs once and then
// leaves alone:
//   apply     brings the definitions up to this version
//   release   deletes our resources (of one namespace) while the controller is there to let go of them
//   remove    deletes the definitions, unless another release has resources of them
const USAGE = 'crds apply [--dir crds] | crds release [--namespace N] | crds remove';
const FIELD_MANAGER = 'search-capture-crds';
const POLL_MS = 1_000;
/** After that a Watch goes without its controller: an uninstall must end, also when the controller never started. */
const RELEASE_MS = 90_000;

const { values, positionals } = parseArgs({
  options: { dir: { type: 'string', default: 'crds' }, namespace: { type: 'string' } },
  allowPositionals: true,
});
const log = createLog('crds', loadSettings(process.env, ['logLevel']).logLevel);
const connection = connect({ kubeConfig: loadKubeConfig(), userAgent: 'search-capture-crds' });
const definitions = resourceClient(connection, core.customResourceDefinitions);
const kinds = ['Watch', 'CaptureLane'].map((kind) =>
  resourceClient(
    connection,
    defineKind('searchcapture.io/v1alpha1', kind, kind === 'Watch' ? 'watches' : 'capturelanes'),
  ),
);

const commands = { apply, release, remove };
try {
  const [word = ''] = positionals;
  if (!isCommand(word)) throw new Error(`usage: ${USAGE}`);
  await commands[word]();
} finally {
  await connection.close();
}

function isCommand(word: string): word is keyof typeof commands {
  return Object.hasOwn(commands, word);
}

async function apply(): Promise<void> {
  const names = (await readdir(values.dir)).filter((name) => name.endsWith('.yaml'));
  for (const name of names.toSorted()) {
    const definition: unknown = parse(await readFile(join(values.dir, name), 'utf8'));
    if (!isDefinition(definition)) throw new Error(`${name} is not a CustomResourceDefinition`);
    await definitions.apply(definition, { fieldManager: FIELD_MANAGER });
    log.info({ name: definition.metadata.name }, 'Applied');
  }
}

type Definition = Parameters<typeof definitions.apply>[0];

function isDefinition(value: unknown): value is Definition {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'CustomResourceDefinition';
}

async function release(): Promise<void> {
  const untilMs = Date.now() + RELEASE_MS;
  const scope = values.namespace === undefined ? {} : { namespace: values.namespace };
  for (const kind of kinds) {
    for (;;) {
      const items = await listOrNone(() => kind.list(scope));
      if (items.length === 0) break;
      const late = Date.now() > untilMs;
      for (const { metadata } of items) {
        const key = { namespace: metadata.namespace ?? '', name: metadata.name };
        if (metadata.deletionTimestamp === undefined) await kind.delete(key);
        if (!late || metadata.finalizers === undefined) continue;
        log.warn({ ...key, kind: kind.kind.kind }, 'No controller let go of it; its watch in the database stays');
        await kind.patch(key, { type: 'merge', body: { metadata: { finalizers: null } } });
      }
      await pause(POLL_MS);
    }
  }
  log.info(scope, 'No resource is left');
}

async function remove(): Promise<void> {
  for (const kind of kinds) {
    const { plural } = kind.kind;
    const left = await listOrNone(() => kind.list());
    if (left.length > 0) {
      log.warn({ plural, left: left.length }, 'Another release has resources of this definition, so it stays');
      continue;
    }
    await definitions.delete({ namespace: '', name: `${plural}.searchcapture.io` });
    log.info({ plural }, 'Deleted');
  }
}

/** Where the definition is gone, so are its resources. */
async function listOrNone<T>(list: () => Promise<{ items: readonly T[] }>): Promise<readonly T[]> {
  try {
    return (await list()).items;
  } catch (error) {
    if (isFailure(error, 'notFound')) return [];
    throw error;
  }
}
