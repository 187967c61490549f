import { describe, expect, it } from '@jest/globals';
import type { Service } from '../kube/index.ts';
import type { CaptureLaneObject } from '../resources/index.ts';
import { buildNetworkPolicy } from './network-policy.ts';
import { parsePodSettings } from './pod-settings.ts';
import { resolveLane } from './resolve.ts';

const SETTINGS = parsePodSettings(
  { image: 'x', networkPolicy: { egress: [{ to: [{ podSelector: { matchLabels: { app: 'db' } } }] }] } },
  'test',
);
const SERVICE: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'demo', namespace: 'engines', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
  spec: { selector: { app: 'demo' }, ports: [{ port: 80, targetPort: 8090 }] },
};

const timeouts = { captureSeconds: 120, queueSeconds: 900 };
const scaling = {
  minReplicas: 0,
  maxReplicas: 3,
  capturesPerPod: 2,
  activationQueue: 1,
  cooldownSeconds: 300,
  stabilizationSeconds: 60,
  pollSeconds: 5,
  fallback: { failureThreshold: 3, replicas: 1 },
};

/** The rules of a lane that starts there, without those that every lane has. */
function rulesFor(url: string, more: { allowHosts?: string[] } = {}): { own: unknown[]; web: unknown } {
  const profile = { go: { url }, ask: [], finished: { quietMs: 1 }, read: { answer: 'p' } };
  const resource: CaptureLaneObject = {
    apiVersion: 'searchcapture.io/v1alpha1',
    kind: 'CaptureLane',
    metadata: { name: 'mine', namespace: 'lanes', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
    spec: { surface: 'assistant_one', driver: 'browser', suspend: false, profile, browser: more, scaling, timeouts },
  };
  const resolved = resolveLane(resource, { configMap: () => undefined, secret: () => undefined });
  if ('reason' in resolved) throw new Error(resolved.message);
  const find = (namespace: string, host: string) =>
    `${namespace}/${host}` === 'lanes/demo.engines' || host.startsWith('demo.engines.svc') ? SERVICE : undefined;
  const [, , ...rest] = buildNetworkPolicy(resource, resolved, SETTINGS, find).spec?.egress ?? [];
  return { own: rest.slice(0, -1), web: rest.at(-1)?.ports };
}
const ports = (...numbers: number[]) => numbers.map((port) => ({ protocol: 'TCP', port }));

describe("a lane's network policy", () => {
  it('lets it reach the public web, and nothing inside', () => {
    expect(rulesFor('https://engine.example/')).toEqual({ own: [], web: ports(80, 443) });
  });

  it('adds the port that its address names', () => {
    expect(rulesFor('https://engine.example:8443/')).toEqual({ own: [], web: ports(80, 443, 8443) });
  });

  it.each(['http://demo.engines/x', 'http://demo.engines.svc/x', 'http://demo.engines.svc.cluster.local/x'])(
    'adds the pods behind the Service that %s names, at their own port',
    (url) => {
      expect(rulesFor(url).own).toEqual([
        {
          to: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'engines' } },
              podSelector: { matchLabels: { app: 'demo' } },
            },
          ],
          ports: ports(8090),
        },
      ]);
    },
  );

  it('adds an address inside that is named with its port', () => {
    const rules = rulesFor('https://engine.example/', { allowHosts: ['10.1.2.3:8080', 'cdn.example'] });
    expect(rules).toEqual({
      own: [{ to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: ports(8080) }],
      web: ports(80, 443),
    });
  });
});
