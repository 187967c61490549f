import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { createRegistry } from '../../pkg/telemetry/index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('alerts and dashboards', () => {
  let known: ReadonlySet<string>;
  beforeAll(async () => {
    const ofNode = createRegistry()
      .getMetricsAsArray()
      .map(({ name }) => name);
    known = new Set([...ofNode, ...(await findRegistered())]);
  });

  it('know what the processes register', () => {
    expect([...known]).toEqual(
      expect.arrayContaining(['scs_captures_ended_total', 'workqueue_depth', 'process_resident_memory_bytes']),
    );
  });

  it.each(['config/prometheus/rules.yaml', 'config/grafana/search-capture.json'])(
    'of %s ask for metrics that a process emits',
    async (file) => {
      const names = listExpressions(parse(await readFile(join(ROOT, file), 'utf8'))).flatMap(namesIn);
      expect(names.length).toBeGreaterThan(3);
      expect(names.filter((name) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, '')))).toEqual(
        [],
      );
    },
  );
});

/** Names in the files of `pkg` that make metrics: as a metric's `name`, or after the registry that a helper takes. */
async function findRegistered(): Promise<string[]> {
  const files = (await readdir(join(ROOT, 'pkg'), { recursive: true })).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  const texts = await Promise.all(files.map((file) => readFile(join(ROOT, 'pkg', file), 'utf8')));
  return texts
    .filter((text) => text.includes("from 'prom-client'"))
    .flatMap((text) => [...text.matchAll(/(?:name: |registry,\s*)'([a-z]\w*_\w+)'/g)].map(([, name = '']) => name));
}

/** Every `expr`, wherever it is. */
function listExpressions(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(listExpressions);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    key === 'expr' && typeof each === 'string' ? [each] : listExpressions(each),
  );
}

/** The metrics of an expression of PromQL: what is left without labels, durations and functions, and has an underscore. */
function namesIn(expression: string): string[] {
  const bare = expression
    .replace(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, '')
    .replace(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '')
    .replace(/\w+\s*\(/g, '(');
  return bare.match(/\b[a-z]\w*_\w+/g) ?? [];
}
