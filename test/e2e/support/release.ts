import { fileURLToPath } from 'node:url';
import { CHART, ensureTool } from '../../support/chart-tools.ts';
import { clientManifest, CLIENT_POD, openClient, type Client } from './client.ts';
import { openCluster, type Cluster } from './cluster.ts';
import { run } from './tools.ts';

export const NAMESPACE = 'search-capture-e2e';
export const OUTSIDE = 'search-capture-e2e-outside';
export const RELEASE = 'e2e';
/** How the chart names what belongs to the release. */
export const NAME = `${RELEASE}-search-capture`;
export const API = `deploy/${NAME}-api`;

const VALUES = fileURLToPath(new URL('../../../charts/search-capture/ci/e2e.yaml', import.meta.url));
const INSTALL_TIMEOUT_MS = 360_000;

export type Release = {
  cluster: Cluster;
  outside: Cluster;
  helm(args: readonly string[]): Promise<string>;
  /** `helm upgrade --install` with the values of the tests and these `--set` words; waits until all is ready. */
  apply(set: readonly string[]): Promise<string>;
  /** An account of its own and a client with its key. */
  openAccount(): Promise<{ key: string; client: Client }>;
};

export async function openRelease(): Promise<Release> {
  const helmPath = await ensureTool('helm', (line) => void process.stdout.write(`${line}\n`));
  if (helmPath === undefined) throw new Error('The tests need helm on PATH, or go to build it');
  const cluster = openCluster(NAMESPACE);
  const outside = openCluster(OUTSIDE);
  const tag = process.env['TAG'] ?? 'dev';
  const images = { service: process.env['SERVICE_IMAGE'] ?? '', lane: process.env['LANE_IMAGE'] ?? '' };
  const base = [
    `image.repository=${images.service},image.tag=${tag}`,
    `laneImage.repository=${images.lane},laneImage.tag=${tag}`,
    ...(await nameDns()),
  ].flatMap((each) => ['--set', each]);
  const helm = (args: readonly string[]): Promise<string> =>
    run(helmPath, [...args, '--namespace', NAMESPACE], { timeoutMs: INSTALL_TIMEOUT_MS });

  return {
    cluster,
    outside,
    helm,
    apply: (set) =>
      helm([
        ...['upgrade', '--install', RELEASE, CHART, '-f', VALUES, ...base],
        ...set.flatMap((each) => ['--set', each]),
        ...['--wait', '--timeout', '5m'],
      ]),
    openAccount: async () => {
      const scs = async (words: string[], field: string): Promise<string> => {
        const text = await cluster.kubectl(['exec', API, '-c', 'api', '--', 'scs', ...words, '--json']);
        const result: unknown = JSON.parse(text);
        return typeof result === 'object' && result !== null ? String(Reflect.get(result, field)) : '';
      };
      const account = ['account', 'create', '--name', 'e2e', '--email', `${String(Date.now())}@e2e.example`];
      const accountId = await scs([...account, '--plan', 'tests', '--credits', '1000000'], 'accountId');
      const key = await scs(['key', 'create', '--account', accountId], 'key');
      return { key, client: openClient(outside, OUTSIDE, `http://${NAME}-api.${NAMESPACE}.svc`, key) };
    },
  };
}

/** Two empty namespaces, the release's under the strictest Pod Security, and the client in the other. */
export async function prepareNamespaces({ cluster, outside }: Release): Promise<void> {
  for (const each of [NAMESPACE, OUTSIDE]) {
    await cluster.kubectl(['delete', 'namespace', each, '--ignore-not-found', '--timeout=120s']);
    await cluster.kubectl(['create', 'namespace', each]);
  }
  const strict = 'pod-security.kubernetes.io/enforce=restricted';
  await cluster.kubectl(['label', 'namespace', NAMESPACE, OUTSIDE, strict]);
  await outside.kubectl(
    ['apply', '-f', '-'],
    clientManifest(`${process.env['SERVICE_IMAGE'] ?? ''}:${process.env['TAG'] ?? 'dev'}`),
  );
  await outside.kubectl(['wait', '--for=condition=Ready', `pod/${CLIENT_POD}`, '--timeout=90s']);
}

/** A cluster's DNS need not be pods, which alone a policy can name by their labels. */
async function nameDns(): Promise<string[]> {
  const slices = ['get', 'endpointslices', '-n', 'kube-system', '-l', 'kubernetes.io/service-name=kube-dns'];
  const addresses = await run('kubectl', [...slices, '-o', 'jsonpath={.items[*].endpoints[*].addresses[*]}']);
  return addresses
    .split(/\s+/)
    .filter((address) => /^[\d.]+$/.test(address))
    .map((address, index) => `networkPolicy.dnsTo[${String(index)}].ipBlock.cidr=${address}/32`);
}
