import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, runCommand } from '../../pkg/runtime/index.ts';
import { installPython } from './python.ts';

export const CHART = fileURLToPath(new URL('../../charts/search-capture', import.meta.url));
/** Helm that was built from its module believes in Kubernetes 1.20. */
const KUBERNETES = '1.34.0';
const BIN = fileURLToPath(new URL('../../.local/bin', import.meta.url));
const BUILD_TIMEOUT_MS = 10 * 60_000;
const RENDER_TIMEOUT_MS = 60_000;

const MODULES = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.19.2',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0',
};
export type ChartTool = keyof typeof MODULES;

/** Path of the tool, on PATH or where it was built before; undefined when there is none. */
export function findTool(name: ChartTool): Promise<string | undefined> {
  return findProgram([name, join(BIN, name)], process.env['PATH'] ?? '');
}

/**
 * The same, built from its Go module where it is missing and Go is there. Says in one line what is left out where
 * neither is: who works on the service without Kubernetes must not need its tools.
 */
export async function ensureTool(name: ChartTool, say: (line: string) => void): Promise<string | undefined> {
  const found = await findTool(name);
  if (found !== undefined) return found;
  const go = await findProgram(['go', '/usr/local/go/bin/go'], process.env['PATH'] ?? '');
  if (go === undefined) {
    say(`SKIPPED: what needs ${name}. Put ${name} or go on PATH to check the Helm chart.`);
    return undefined;
  }
  say(`${name} is missing: building it with go, once`);
  await mkdir(BIN, { recursive: true });
  const env = { ...process.env, GOBIN: BIN, CGO_ENABLED: '0' };
  await runCommand(go, ['install', '-ldflags', '-s -w', MODULES[name]], { env, timeoutMs: BUILD_TIMEOUT_MS });
  return join(BIN, name);
}

/** The chart's manifests as text. `args` are further arguments of `helm template`. */
export function renderChart(helm: string, args: readonly string[]): Promise<string> {
  const words = ['template', 'demo', CHART, '--namespace', 'search', '--kube-version', KUBERNETES, ...args];
  return runCommand(helm, words, { timeoutMs: RENDER_TIMEOUT_MS });
}

/**
 * Puts the schemas of the built-in kinds where kubeconform finds them, and returns the place as it wants it. A package of
 * PyPI holds them, for a program that finds their common definitions below `/api`.
 */
export async function copyKubernetesSchemas(target: string): Promise<string> {
  const bin = await installPython({ name: 'kubernetes-validate', version: '1.37.0' });
  const lib = join(bin, '..', 'lib');
  const [python] = await readdir(lib);
  if (python === undefined) throw new Error(`${lib} is empty`);
  const schemas = join(lib, python, 'site-packages/kubernetes_validate/kubernetes-json-schema');
  const source = join(schemas, `v${KUBERNETES}-local-strict`);
  await mkdir(target, { recursive: true });
  for (const name of await readdir(source)) {
    // Under the address that its `$id` claims, a schema would look for the definitions there.
    const text = (await readFile(join(source, name), 'utf8')).replace(/"\$id": "[^"]*"/, '"$comment": ""');
    await writeFile(join(target, name), text.replaceAll('"/api/_definitions.json', '"_definitions.json'));
  }
  return `${target}/{{.ResourceKind}}{{.KindSuffix}}.json`;
}

/** Value files of installations that must always render. */
export async function listValueFiles(): Promise<string[]> {
  const names = await readdir(join(CHART, 'ci'));
  return names.toSorted().map((name) => join(CHART, 'ci', name));
}
