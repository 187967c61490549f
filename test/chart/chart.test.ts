import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { CHART, findTool, listValueFiles, renderChart } from '../support/chart-tools.ts';

type Manifest = {
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
};

const helm = await findTool('helm');
if (helm === undefined) process.stdout.write('SKIPPED: the tests of the Helm chart. Put helm or go on PATH.\n');

async function render(...args: string[]): Promise<Manifest[]> {
  return parseAllDocuments(await renderChart(helm ?? '', args))
    .map((document) => {
      const value: unknown = document.toJS();
      return value;
    })
    .filter(isManifest);
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null && 'kind' in value;
}

function find(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

/** Every pod's spec with the name of what makes it. */
function podsOf(manifests: readonly Manifest[]): [string, Record<string, unknown>][] {
  return manifests.flatMap((each): [string, Record<string, unknown>][] => {
    const name = `${each.kind} ${each.metadata.name}`;
    if (each.kind === 'Pod') return [[name, each.spec ?? {}]];
    const template = each.spec?.['template'];
    return isRecord(template) && isRecord(template['spec']) ? [[name, template['spec']]] : [];
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function containersOf(pod: Record<string, unknown>): Record<string, unknown>[] {
  return [pod['initContainers'], pod['containers']].flatMap((list) =>
    Array.isArray(list) ? list.filter(isRecord) : [],
  );
}

(helm === undefined ? describe.skip : describe)('the chart', () => {
  const installations: [string, Manifest[]][] = [];

  beforeAll(async () => {
    for (const file of await listValueFiles()) installations.push([file, await render('-f', file)]);
  });

  it('gives no pod a right that Pod Security "restricted" denies, nor a file system to write to', () => {
    for (const [, manifests] of installations) {
      for (const [name, pod] of podsOf(manifests)) {
        expect([name, pod['securityContext']]).toEqual([
          name,
          expect.objectContaining({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }),
        ]);
        for (const container of containersOf(pod)) {
          expect([name, container['securityContext']]).toEqual([
            name,
            { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
          ]);
          expect([name, isRecord(container['resources']) && Object.keys(container['resources'])]).toEqual([
            name,
            ['limits', 'requests'],
          ]);
        }
      }
    }
  });

  it('mounts a service-account token only where the API server is called', () => {
    for (const [, manifests] of installations) {
      const withToken = podsOf(manifests).filter(([, pod]) => pod['automountServiceAccountToken'] !== false);
      for (const [name] of withToken) expect(name).toMatch(/controller$|-crds-(apply|release|remove)$/);
    }
  });

  it('has no wildcard in any role', () => {
    const rules = installations.flatMap(([, manifests]) => manifests.flatMap(({ rules: each = [] }) => each));
    expect(rules.length).toBeGreaterThan(10);
    for (const rule of rules) expect([...rule.apiGroups, ...rule.resources, ...rule.verbs]).not.toContain('*');
  });

  it('migrates before an upgrade, and before an installation on a database that is there already', async () => {
    const hooks = async (...args: string[]): Promise<(string | undefined)[]> =>
      (await render(...args))
        .filter(({ kind, metadata }) => kind === 'Job' && metadata.name.includes('migrate'))
        .map(({ metadata }) => metadata.annotations?.['helm.sh/hook']);
    const external = ['--set', 'postgresql.enabled=false,postgresql.external.existingSecret=db'];
    expect(await hooks()).toEqual([undefined]);
    expect(await hooks('--is-upgrade')).toEqual(['pre-install,pre-upgrade']);
    expect(await hooks(...external)).toEqual(['pre-install,pre-upgrade']);
  });

  it('gives the API longer to stop than its longest request may take', async () => {
    const api = find(await render('--set', 'api.syncWaitSeconds=120'), 'Deployment', 'demo-search-capture-api');
    const [[, pod] = ['', {}]] = podsOf([api]);
    const [container = {}] = containersOf(pod).slice(-1);
    expect(JSON.stringify(container['env'])).toContain('{"name":"SHUTDOWN_GRACE_SECONDS","value":"125"}');
    expect(pod['terminationGracePeriodSeconds']).toBeGreaterThan(125 + 5);
  });

  it('leaves the number of API pods to the autoscaler where there is one', async () => {
    const [without, with_] = await Promise.all([render(), render('--set', 'api.autoscaling.enabled=true')]);
    const replicas = (manifests: Manifest[]): unknown =>
      find(manifests, 'Deployment', 'demo-search-capture-api').spec?.['replicas'];
    expect([replicas(without), replicas(with_)]).toEqual([2, undefined]);
    expect(find(with_, 'HorizontalPodAutoscaler', 'demo-search-capture-api').spec?.['maxReplicas']).toBe(10);
  });

  it.each([
    { set: 'api.replica=3', says: /replica/ },
    { set: 'lanePods.x=1', says: /lanePods/ },
    { set: 'logLevel=loud', says: /logLevel/ },
    { set: 'postgresql.enabled=false', says: /postgresql\.external\.existingSecret must name the Secret/ },
    { set: 'redis.enabled=false', says: /redis\.external\.existingSecret must name the Secret/ },
    { set: 'api.ingress.enabled=true', says: /api\.ingress\.host must be set/ },
    { set: 'artifacts.store=s3', says: /artifacts\.s3\.bucket must be set/ },
  ])('refuses $set with a reason', async ({ set, says }) => {
    await expect(render('--set', set)).rejects.toThrow(says);
  });

  it('names its public address after the ingress', async () => {
    const ingress = 'api.ingress.enabled=true,api.ingress.host=search.example,api.ingress.tls.enabled=true';
    expect(JSON.stringify(await render('--set', ingress))).toContain('"https://search.example"');
  });

  it('points the demo lanes at the demo engines of the release, and makes only those that are asked for', async () => {
    const manifests = await render('--set', 'demo.enabled=true,demo.lanes={engine-search}');
    const lanes = manifests.filter(({ kind }) => kind === 'CaptureLane');
    expect(lanes.map(({ metadata }) => metadata.name)).toEqual(['engine-search']);
    expect(JSON.stringify(lanes)).toContain('http://demo-search-capture-demo:8090/');
    expect(JSON.stringify(lanes)).not.toContain('127.0.0.1');
  });

  it('takes its definitions away at the end, unless they shall be kept', async () => {
    const jobs = async (...args: string[]): Promise<string[]> =>
      (await render(...args)).filter(({ kind }) => kind === 'Job').map(({ metadata }) => metadata.name);
    expect(await jobs()).toContain('demo-search-capture-crds-remove');
    expect(await jobs('--set', 'crds.keep=true')).not.toContain('demo-search-capture-crds-remove');
  });

  it('lets nobody but its own pods reach Postgres and Redis, and no pod a metadata address', () => {
    for (const [file, manifests] of installations) {
      const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
      if (policies.length === 0) expect(file).toContain('minimal');
      for (const block of JSON.stringify(policies).match(/"cidr":"0\.0\.0\.0\/0"[^}]*/g) ?? [])
        expect(block).toContain('169.254.0.0/16');
    }
  });

  it('shows and alerts only on metrics that exist', async () => {
    const files = ['files/prometheus/rules.yaml', 'files/grafana/search-capture.json'];
    const text = (await Promise.all(files.map((file) => readFile(join(CHART, file), 'utf8')))).join('\n');
    const sources = ['pkg/telemetry/metrics.ts', 'pkg/telemetry/dispatch-metrics.ts', 'pkg/operator/kube/metrics.ts'];
    const code = (await Promise.all(sources.map((path) => readFile(join(CHART, '../..', path), 'utf8')))).join('\n');
    const named = [...text.matchAll(/\b(?:scs|controller_runtime|leader_election|workqueue)_[a-z_]+/g)].map(
      ([name]) => name,
    );
    expect(named.length).toBeGreaterThan(5);
    for (const name of named) expect(code).toContain(`'${name.replace(/_(bucket|count|sum)$/, '')}'`);
  });
});

describe('the inner loop', () => {
  it('consists of make targets that exist', async () => {
    const root = join(CHART, '../..');
    const [tilt, make] = await Promise.all(['Tiltfile', 'Makefile'].map((name) => readFile(join(root, name), 'utf8')));
    const targets = [...(tilt ?? '').matchAll(/cmd='make ([^']+)'/g)].flatMap(([, words = '']) => words.split(' '));
    expect(targets).toEqual(expect.arrayContaining(['images', 'release', 'e2e']));
    for (const target of targets) expect(make).toMatch(new RegExp(`^${target}:`, 'm'));
  });

  it('has a cluster that kind can read, and whose name Tilt allows', async () => {
    const root = join(CHART, '../..');
    const [kind, tilt, make] = await Promise.all(
      ['config/kind.yaml', 'Tiltfile', 'Makefile'].map((name) => readFile(join(root, name), 'utf8')),
    );
    // Kind decodes strictly: a field too many, or a role of another name, is refused.
    expect(parseAllDocuments(kind ?? '').map((document) => document.toJS() as unknown)).toEqual([
      { kind: 'Cluster', apiVersion: 'kind.x-k8s.io/v1alpha4', nodes: [{ role: 'control-plane' }] },
    ]);
    const name = /^KIND_CLUSTER \?= (\S+)$/m.exec(make ?? '')?.[1];
    expect(tilt).toContain(`allow_k8s_contexts('kind-${String(name)}')`);
  });
});
