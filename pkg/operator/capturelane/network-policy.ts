import { isIP } from 'node:net';
import { controllerReference, keyOf, type Desired, type NetworkPolicy, type Service } from '../kube/index.ts';
import type { CaptureLaneObject } from '../resources/index.ts';
import { PROBE_PORT } from './deployment.ts';
import { childKey, laneLabels, podSelector } from './names.ts';
import type { PodSettings } from './pod-settings.ts';
import type { ResolvedLane } from './resolve.ts';

/** What is no public address: nothing of the cluster, of the node, or of a cloud's metadata service. */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const NOT_PUBLIC_V6 = ['::/8', '64:ff9b:1::/48', 'fc00::/7', 'fe80::/10', 'ff00::/8'];
const WEB_PORTS = [80, 443];

export type Target = { host: string; port: number };
/** Finds the Service behind a host name, as a pod of `namespace` would. */
export type FindService = (namespace: string, host: string) => Service | undefined;

type Rule = NonNullable<NonNullable<Desired<NetworkPolicy>['spec']>['egress']>[number];

/**
 * A lane's pods reach DNS, what all lanes need, what this lane names, and the public web; only the metrics of theirs
 * are reached. Which hosts of the public web a page may ask for is the browser's own guard's matter, as this one knows
 * addresses only.
 */
export function buildNetworkPolicy(
  resource: CaptureLaneObject,
  resolved: ResolvedLane,
  { networkPolicy }: PodSettings,
  findService: FindService,
): Desired<NetworkPolicy> {
  const key = keyOf(resource);
  const targets = listTargets(resolved);
  const from = networkPolicy.metricsFrom;
  return {
    metadata: {
      ...childKey(key),
      labels: laneLabels(key, resolved.lane.spec.surface),
      ownerReferences: [controllerReference(resource)],
    },
    spec: {
      podSelector: { matchLabels: podSelector(key) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [tcp(PROBE_PORT)], ...(from.length === 0 ? {} : { from }) }],
      egress: [
        {
          to: networkPolicy.dns,
          ports: [{ protocol: 'UDP', port: 53 }, tcp(53)],
        },
        ...networkPolicy.egress,
        ...targets.flatMap((target) => allowInside(key.namespace, target, findService)),
        allowWeb(targets),
      ],
    },
  };
}

/** Where the lane itself says that it goes, with the port of each. */
export function listTargets({ lane, proxyUrls }: ResolvedLane): Target[] {
  const { spec } = lane;
  const start = spec.driver === 'model' ? spec.model.endpoint : spec.profile.go.url;
  const allowed = spec.browser.allowHosts.filter((host) => /:\d+$/.test(host)).map((host) => `http://${host}`);
  const targets = [start, ...proxyUrls, ...allowed].flatMap((url) => {
    const target = parseTarget(url);
    return target === undefined ? [] : [target];
  });
  return targets.filter(
    ({ host, port }, index) => targets.findIndex((t) => t.host === host && t.port === port) === index,
  );
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443, 'socks5:': 1080 };

function parseTarget(text: string): Target | undefined {
  const filled = text.replace(/\{\w+\}/g, 'x');
  if (!URL.canParse(filled)) return undefined;
  const { hostname, port, protocol } = new URL(filled);
  const number = port === '' ? DEFAULT_PORTS[protocol] : Number(port);
  return number === undefined ? undefined : { host: hostname.replace(/^\[|\]$/g, ''), port: number };
}

/** A rule of its own for an address, and for a Service of the cluster. */
function allowInside(namespace: string, { host, port }: Target, findService: FindService): Rule[] {
  const version = isIP(host);
  if (version !== 0) {
    return [{ to: [{ ipBlock: { cidr: `${host}/${version === 4 ? 32 : 128}` } }], ports: [tcp(port)] }];
  }
  const service = findService(namespace, host);
  const selector = service?.spec?.selector;
  if (service === undefined || selector === undefined || Object.keys(selector).length === 0) return [];
  // What a policy sees is the pod behind the Service, and the pod's port.
  const targetPort = service.spec?.ports?.find((entry) => entry.port === port)?.targetPort ?? port;
  return [
    {
      to: [
        {
          namespaceSelector: {
            matchLabels: { 'kubernetes.io/metadata.name': service.metadata.namespace ?? namespace },
          },
          podSelector: { matchLabels: selector },
        },
      ],
      ports: [{ protocol: 'TCP', port: targetPort }],
    },
  ];
}

/** Public addresses, at the ports of the web and those that the lane names. */
function allowWeb(targets: readonly Target[]): Rule {
  const ports = new Set([...WEB_PORTS, ...targets.filter(({ host }) => isIP(host) === 0).map(({ port }) => port)]);
  return {
    to: [
      { ipBlock: { cidr: '0.0.0.0/0', except: NOT_PUBLIC_V4 } },
      { ipBlock: { cidr: '::/0', except: NOT_PUBLIC_V6 } },
    ],
    ports: [...ports].toSorted((a, b) => a - b).map(tcp),
  };
}

function tcp(port: number): { protocol: 'TCP'; port: number } {
  return { protocol: 'TCP', port };
}

/** The Service that a host name can mean: `name`, `name.namespace`, `name.namespace.svc` and what follows that. */
export function serviceKeyOf(namespace: string, host: string): { namespace: string; name: string } | undefined {
  const [name, second, third] = host.split('.');
  if (name === undefined) return undefined;
  if (second === undefined) return { namespace, name };
  return third === undefined || third === 'svc' ? { namespace: second, name } : undefined;
}
