import { spawnSync } from 'node:child_process';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { runCommand } from '../../pkg/runtime/index.ts';
import { CHART, copyKubernetesSchemas, ensureTool, listValueFiles, renderChart } from './chart-tools.ts';

// The chart as a reviewer checks it: lint, then every value file rendered and judged by the schemas of Kubernetes and
// of our own kinds.
const LOCAL = fileURLToPath(new URL('../../.local/chart', import.meta.url));
const TIMEOUT_MS = 120_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const helm = await ensureTool('helm', say);
const kubeconform = helm === undefined ? undefined : await ensureTool('kubeconform', say);
if (helm !== undefined) {
  await rm(LOCAL, { recursive: true, force: true });
  await mkdir(LOCAL, { recursive: true });
  const files = await listValueFiles();
  for (const file of files) await runCommand(helm, ['lint', '--strict', CHART, '-f', file], { timeoutMs: TIMEOUT_MS });
  const rendered: string[] = [];
  for (const [index, file] of files.entries()) {
    const path = join(LOCAL, `${index}.yaml`);
    await writeFile(path, await renderChart(helm, ['--include-crds', '-f', file]));
    rendered.push(path);
  }
  if (kubeconform !== undefined) await conform(kubeconform, rendered);
  say(`The chart was checked with ${files.length} value files`);
}

async function conform(program: string, paths: readonly string[]): Promise<void> {
  await writeSchemas();
  const locations = [await copyKubernetesSchemas(join(LOCAL, 'kubernetes')), `${LOCAL}/{{.ResourceKind}}.json`];
  const words = ['-strict', '-summary', '-skip', 'PodMonitor,PrometheusRule', ...locations.flatMap(asLocation)];
  // Its findings go to the standard output, so they are shown as they come.
  const { status } = spawnSync(program, [...words, ...paths], { stdio: 'inherit', timeout: TIMEOUT_MS });
  if (status !== 0) process.exitCode = 1;
}

function asLocation(place: string): string[] {
  return ['-schema-location', place];
}

/** kubeconform wants JSON schemas, and one that also refuses what the API server would drop. */
async function writeSchemas(): Promise<void> {
  for (const name of await readdir(join(CHART, 'crds'))) {
    const definition: unknown = parse(await readFile(join(CHART, 'crds', name), 'utf8'));
    if (!isDefinition(definition)) throw new Error(`crds/${name} is not a CustomResourceDefinition`);
    const [version] = definition.spec.versions;
    const kind = definition.spec.names.kind.toLowerCase();
    await writeFile(join(LOCAL, `${kind}.json`), JSON.stringify(closed(version?.schema.openAPIV3Schema)));
  }
}

type Definition = {
  spec: { names: { kind: string }; versions: { schema: { openAPIV3Schema: unknown } }[] };
};

function isDefinition(value: unknown): value is Definition {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'CustomResourceDefinition';
}

function closed(schema: unknown, atTop = true): unknown {
  if (Array.isArray(schema)) return schema.map((each) => closed(each, false));
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value, false)]));
  const isOpen = 'x-kubernetes-preserve-unknown-fields' in schema || 'additionalProperties' in schema;
  const isObject = 'properties' in schema && 'type' in schema && schema.type === 'object';
  if (!isObject || isOpen) return copy;
  if (atTop && typeof copy['properties'] === 'object') Object.assign(copy['properties'] ?? {}, { metadata: {} });
  return { ...copy, additionalProperties: false };
}
