import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from './support/client.ts';
import { NAME, NAMESPACE, OUTSIDE, RELEASE, openRelease, prepareNamespaces, type Release } from './support/release.ts';
import { connectFrom } from './support/reach.ts';
import { listLeft, listLeftClusterWide } from './support/leftovers.ts';
import { until } from './support/tools.ts';

// One release, from its installation to its end; each test leaves it working.
let release: Release;
let client: Client;
let key: string;

const LANES = 'app.kubernetes.io/component=lane';
const laneLabel = (name: string): string => `searchcapture.io/lane=${name}`;
const times = (count: number, text: string): string[] =>
  Array.from({ length: count }, (_, index) => `${text} ${String(index)}`);

beforeAll(async () => {
  release = await openRelease();
  await prepareNamespaces(release);
  await release.apply([]);
  ({ key, client } = await release.openAccount());
}, 480_000);

afterAll(async () => {
  await release.cluster.kubectl(['delete', 'namespace', NAMESPACE, OUTSIDE, '--ignore-not-found', '--timeout=120s']);
}, 240_000);

describe('a fresh release', () => {
  it('has every demo lane ready, without a pod', async () => {
    await release.cluster.kubectl(['wait', 'capturelanes', '--all', '--for=condition=Ready', '--timeout=90s']);
    expect(await release.cluster.pods(LANES)).toEqual([]);
  });

  it('passes its own test', async () => {
    await release.helm(['test', RELEASE, '--timeout', '90s']);
  });

  it('answers a search through its Service, captured by a browser pod that it started for it', async () => {
    const { status, body } = await client.call('POST', '/v1/search', {
      query: 'Which city bikes are best?',
      surfaces: ['assistant_one'],
    });
    expect({ status, state: body['status'] }).toEqual({ status: 200, state: 'completed' });
    expect(JSON.stringify(body['evidence'])).toContain('https://');
    const [pod = ''] = await release.cluster.pods(laneLabel('assistant-one'));
    expect(await release.cluster.kubectl(['logs', pod])).toContain('"outcome":"completed"');
  });

  it('says on every surface whether it is live', async () => {
    const { body } = await client.call('GET', '/v1/surfaces');
    expect(body['surfaces']).toContainEqual({ id: 'engine_search', live: true });
    expect(body['surfaces']).toContainEqual({ id: 'assistant_four', live: false });
  });
});

describe('a Watch', () => {
  const manifest = (name: string, secret: string): string =>
    JSON.stringify({
      apiVersion: 'searchcapture.io/v1alpha1',
      kind: 'Watch',
      metadata: { name },
      spec: {
        query: 'Which city bikes are best?',
        surfaces: ['engine_search'],
        schedule: { intervalMinutes: 1 },
        apiKeySecretRef: { name: secret, key: 'key' },
      },
    });

  it('that is applied runs, and its status tells of it', async () => {
    const { cluster } = release;
    await cluster.kubectl(['create', 'secret', 'generic', 'watch-key', `--from-literal=key=${key}`]);
    await cluster.kubectl(['apply', '-f', '-'], manifest('bikes', 'watch-key'));
    await cluster.kubectl(['wait', 'watch/bikes', '--for=condition=Ready', '--timeout=60s']);
    const jobId = await cluster.waitForField('watch/bikes', '.status.lastJobId', /^job_/, 150_000);
    expect(await cluster.field('watch/bikes', '.status.lastOutcome')).toBe('dispatched');
    expect(await client.settle([jobId], 90_000)).toEqual(['completed']);
    const id = await cluster.field('watch/bikes', '.status.id');
    expect((await client.call('GET', `/v1/watches/${id}`)).status).toBe(200);
  });

  it('with a wrong key says so in a condition', async () => {
    const { cluster } = release;
    await cluster.kubectl(['create', 'secret', 'generic', 'wrong-key', '--from-literal=key=sk_live_wrong']);
    await cluster.kubectl(['apply', '-f', '-'], manifest('wrong', 'wrong-key'));
    await cluster.waitForField('watch/wrong', '.status.conditions[?(@.type=="Ready")].status', /^False$/, 60_000);
    const message = await cluster.field('watch/wrong', '.status.conditions[?(@.type=="Ready")].message');
    expect(message).toContain('wrong-key');
  });

  it('that is deleted is canceled in the API', async () => {
    const { cluster } = release;
    const id = await cluster.field('watch/bikes', '.status.id');
    await cluster.kubectl(['delete', 'watch', 'bikes', 'wrong', '--timeout=60s']);
    const { body } = await client.call('GET', `/v1/watches/${id}`);
    expect(body['watch']).toMatchObject({ status: 'canceled' });
  });
});

describe('a lane', () => {
  it('grows with a burst, loses no capture, and goes to zero after it', async () => {
    const { cluster } = release;
    const jobs = await client.submit('assistant_three', times(24, 'burst [[slow:3000]]'));
    await cluster.waitForField('capturelane/assistant-three', '.status.replicas', /^3$/, 120_000);
    const states = await client.settle(jobs, 200_000);
    expect(states).toEqual(jobs.map(() => 'completed'));
    await cluster.waitForField('capturelane/assistant-three', '.status.replicas', /^0$/, 120_000);
    const events = await cluster.kubectl(['get', 'events', '--field-selector=involvedObject.kind=CaptureLane']);
    expect(events).toContain('assistant-three');
  });

  it('captures again what a killed pod was capturing', async () => {
    const { cluster } = release;
    const [job = ''] = await client.submit('assistant_five', ['killed [[slow:15000]]']);
    const pod = await until('a capture under way', 90_000, async () => {
      const [name] = await cluster.pods(laneLabel('assistant-five'));
      const { body } = await client.call('GET', `/v1/jobs/${job}.assistant_five.GLOBAL`);
      return JSON.stringify(body).includes('"running"') ? name : undefined;
    });
    await cluster.kubectl(['delete', 'pod', pod, '--grace-period=0', '--force']);
    expect(await client.settle([job], 150_000)).toEqual(['completed']);
  });
});

describe('what dies', () => {
  it('as the leading controller is followed by the other', async () => {
    const { cluster } = release;
    const lease = `lease/${NAME}-controller`;
    const holder = await cluster.field(lease, '.spec.holderIdentity');
    const [pod = ''] = holder.split('_');
    await cluster.kubectl(['delete', 'pod', pod, '--grace-period=0', '--force']);
    // A lane without pods: only a controller that leads can start one.
    const jobs = await client.submit('engine_news', ['without a leader']);
    expect(await client.settle(jobs, 120_000)).toEqual(['completed']);
    expect(await cluster.field(lease, '.spec.holderIdentity')).not.toBe(holder);
  });

  it('as Redis costs no accepted search', async () => {
    const { cluster } = release;
    const before = await client.submit('engine_search', times(3, 'before Redis died'));
    await cluster.kubectl(['delete', 'pod', '-l', 'app.kubernetes.io/component=redis', '--grace-period=0', '--force']);
    const while_ = await client.submit('engine_search', times(3, 'while Redis is away'));
    const states = await client.settle([...before, ...while_], 180_000);
    expect(states).toEqual([...before, ...while_].map(() => 'completed'));
  });

  it('as Postgres costs no accepted search', async () => {
    const { cluster } = release;
    const jobs = await client.submit('engine_search', times(4, 'before Postgres died [[slow:2000]]'));
    // Without a checkpoint and without a word to its clients, as when its node goes.
    const immediately = ['pg_ctl', 'stop', '-D', '/var/lib/postgresql/data/pgdata', '-m', 'immediate', '--no-wait'];
    await cluster.tryKubectl(['exec', `${NAME}-postgresql-0`, '--', ...immediately]);
    expect(await client.settle(jobs, 180_000)).toEqual(jobs.map(() => 'completed'));
    const { status } = await client.call('GET', '/v1/health?probe=deep');
    expect(status).toBe(200);
  });
});

describe('network policies', () => {
  it('let a lane reach what it names and works with, and nothing else', async () => {
    const { cluster, outside } = release;
    // Its pod must be there: a capture that takes long keeps it.
    const jobs = await client.submit('assistant_one', ['policies [[slow:25000]]']);
    const pod = await until(
      'a pod of the lane',
      90_000,
      async () => (await cluster.pods(laneLabel('assistant-one')))[0],
    );
    const address = async (kind: string): Promise<string> =>
      (
        await cluster.kubectl([
          'get',
          'pods',
          '-l',
          `app.kubernetes.io/component=${kind}`,
          '-o',
          'jsonpath={.items[0].status.podIP}',
        ])
      ).trim();
    const outsider = await outside.field('pod/client', '.status.podIP');
    const targets = {
      demo: `${NAME}-demo.${NAMESPACE}.svc:8090`,
      postgresql: `${NAME}-postgresql.${NAMESPACE}.svc:5432`,
      redis: `${NAME}-redis.${NAMESPACE}.svc:6379`,
      api: `${await address('api')}:8080`,
      'metrics of the API': `${await address('api')}:8081`,
      'metrics of the dispatcher': `${await address('dispatcher')}:8081`,
      'metrics of the controller': `${await address('controller')}:8081`,
      'the API server': 'kubernetes.default.svc:443',
      'the metadata address': '169.254.169.254:80',
      'a pod elsewhere': `${outsider}:80`,
    };
    // The cluster may enforce the policies of a pod a moment after the pod's start.
    await until('the policies of the lane', 30_000, async () => {
      expect(await connectFrom(cluster, pod, targets)).toEqual({
        demo: true,
        postgresql: true,
        redis: true,
        api: false,
        'metrics of the API': false,
        'metrics of the dispatcher': false,
        'metrics of the controller': false,
        'the API server': false,
        'the metadata address': false,
        'a pod elsewhere': false,
      });
      return true;
    });
    expect(await client.settle(jobs, 120_000)).toEqual(['completed']);
  });

  it('keep the API from metadata addresses, browsers and the API server', async () => {
    const { cluster, outside } = release;
    const [pod = ''] = await cluster.pods('app.kubernetes.io/component=api');
    const outsider = await outside.field('pod/client', '.status.podIP');
    const reached = await connectFrom(cluster, pod, {
      postgresql: `${NAME}-postgresql.${NAMESPACE}.svc:5432`,
      'the metadata address': '169.254.169.254:80',
      'the API server': 'kubernetes.default.svc:443',
      demo: `${NAME}-demo.${NAMESPACE}.svc:8090`,
      'a pod elsewhere': `${outsider}:80`,
    });
    expect(reached).toEqual({
      postgresql: true,
      'the metadata address': false,
      'the API server': false,
      demo: false,
      'a pod elsewhere': false,
    });
  });

  it('are what holds: a pod without one is answered where those were not', async () => {
    const { outside, cluster } = release;
    const [api = ''] = await cluster.pods('app.kubernetes.io/component=api');
    const reached = await connectFrom(outside, 'client', {
      api: `${await cluster.field(`pod/${api}`, '.status.podIP')}:8080`,
      'the API server': 'kubernetes.default.svc:443',
      postgresql: `${NAME}-postgresql.${NAMESPACE}.svc:5432`,
      redis: `${NAME}-redis.${NAMESPACE}.svc:6379`,
      demo: `${NAME}-demo.${NAMESPACE}.svc:8090`,
    });
    expect(reached).toEqual({ api: true, 'the API server': true, postgresql: false, redis: false, demo: false });
  });
});

describe('an upgrade', () => {
  it('under load fails no request and loses no search', async () => {
    const load = client.startLoad('engine_search');
    // Every pod is replaced: those of services by a label, those of lanes by a variable.
    const labels = ['api', 'dispatcher', 'controller'].map((name) => `${name}.podLabels.round=two`);
    await release.apply([...labels, 'lanePods.env[1].name=ROUND', 'lanePods.env[1].value=two']);
    await until('a lane pod of the second round', 90_000, async () => {
      const [pod] = await release.cluster.pods(laneLabel('engine-search'));
      if (pod === undefined) return undefined;
      return (await release.cluster.field(`pod/${pod}`, '.spec.containers[0].env')).includes('ROUND') ? pod : undefined;
    });
    const { requests, searches, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(100);
    expect(await client.settle(searches, 120_000)).toEqual(searches.map(() => 'completed'));
  });
});

describe('the end', () => {
  it('leaves nothing behind but what was asked to be kept', async () => {
    const { cluster } = release;
    // What users made themselves goes too, and the controller lets go of it while it is there.
    await cluster.kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({
        apiVersion: 'searchcapture.io/v1alpha1',
        kind: 'Watch',
        metadata: { name: 'left' },
        spec: {
          query: 'What is left?',
          surfaces: ['engine_search'],
          schedule: { every: '1d' },
          apiKeySecretRef: { name: 'watch-key', key: 'key' },
        },
      }),
    );
    await cluster.kubectl(['wait', 'watch/left', '--for=condition=Ready', '--timeout=60s']);
    await release.helm(['uninstall', RELEASE, '--wait', '--timeout', '4m']);
    const left = await until('an empty namespace', 150_000, async () => {
      const found = await listLeft(cluster);
      if (found.length <= 3) return found;
      throw new Error(found.join(', '));
    });
    expect(left).toEqual([`secret/${NAME}-keys`, 'secret/watch-key', 'secret/wrong-key']);
    expect(await listLeftClusterWide(cluster, NAMESPACE)).toEqual([]);
  }, 480_000);
});
