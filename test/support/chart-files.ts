import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { parse } from 'yaml';

// Writes what is made from something else: the chart's copies of files that Helm can only read inside the chart, and
// the reference of its values. With --check it writes nothing and fails where something is not as it would be written.
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CHART = join(ROOT, 'charts', 'search-capture');
const REFERENCE = join(ROOT, 'docs', 'helm-values.md');

const COPIES = [
  { from: 'crds', to: 'crds', ending: '.yaml' },
  { from: 'config/lanes', to: 'files/lanes', ending: '.yaml' },
  { from: 'config/grafana', to: 'files/grafana', ending: '.json' },
  { from: 'config/prometheus', to: 'files/prometheus', ending: '.yaml' },
];

type Schema = {
  description?: string;
  type?: string | string[];
  enum?: string[];
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
};

const wanted = new Map<string, string>([[REFERENCE, await describeValues()], ...(await listCopies())]);
const stale: string[] = [];
for (const [path, text] of wanted) {
  if ((await readOr(path, null)) === text) continue;
  if (process.argv.includes('--check')) stale.push(path.slice(ROOT.length));
  else {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
if (stale.length > 0) {
  process.stderr.write(`Not up to date; run \`make chart-files\`:\n  ${stale.join('\n  ')}\n`);
  process.exitCode = 1;
}

async function listCopies(): Promise<[string, string][]> {
  const copies: [string, string][] = [];
  for (const { from, to, ending } of COPIES) {
    const names = (await readdir(join(ROOT, from))).filter((name) => name.endsWith(ending));
    for (const name of names) copies.push([join(CHART, to, name), await readFile(join(ROOT, from, name), 'utf8')]);
  }
  return copies;
}

async function describeValues(): Promise<string> {
  const schema: unknown = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'));
  const values: unknown = parse(await readFile(join(CHART, 'values.yaml'), 'utf8'));
  if (!isSchema(schema)) throw new Error('values.schema.json is not an object');
  const rows = Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== 'global')
    .flatMap(([name, each]) => describe(name, each, valueOf(values, name)));
  const text = [
    '# Values of the chart',
    '',
    '<!-- Made by `make chart-files` from charts/search-capture/values.schema.json and values.yaml. -->',
    '',
    'A key that does not exist is refused. [kubernetes.md](kubernetes.md) tells which of these matter when.',
    '',
    '| Value | Default | What it is |',
    '| --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
  return format(text, { ...(await resolveConfig(REFERENCE)), parser: 'markdown' });
}

function describe(path: string, schema: Schema, value: unknown): string[] {
  if (schema.description === undefined) throw new Error(`values.schema.json: ${path} has no description`);
  if (value === undefined) throw new Error(`values.yaml lacks ${path}, which values.schema.json has`);
  const inner = Object.entries(schema.properties ?? {});
  const unknown =
    schema.properties === undefined ? [] : keysOf(value).filter((key) => !(key in (schema.properties ?? {})));
  if (unknown.length > 0) throw new Error(`values.schema.json lacks ${path}.${unknown.join(`, ${path}.`)}`);
  const shown = schema.properties === undefined ? `\`${JSON.stringify(value)}\`` : '';
  const allowed = schema.enum === undefined ? '' : ` One of ${schema.enum.map((each) => `\`${each}\``).join(', ')}.`;
  const row = `| \`${path}\` | ${shown} | ${schema.description}${allowed} |`;
  return [row, ...inner.flatMap(([name, each]) => describe(`${path}.${name}`, each, valueOf(value, name)))];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null;
}

function keysOf(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

function valueOf(value: unknown, name: string): unknown {
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []).get(name);
}

async function readOr<T>(path: string, otherwise: T): Promise<string | T> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return otherwise;
    throw error;
  }
}
