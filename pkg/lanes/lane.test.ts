import { describe, expect, it } from '@jest/globals';
import { parseLane } from './lane.ts';

const PROFILE = {
  go: { url: 'http://127.0.0.1:8090/x?q={query}' },
  ask: [],
  finished: { quietMs: 200 },
  read: { answer: '.answer' },
};
const MODEL = { endpoint: 'https://models.example/v1', model: 'm' };

const lane = (spec: object, rest: object = {}): unknown => ({
  apiVersion: 'searchcapture.io/v1alpha1',
  kind: 'CaptureLane',
  metadata: { name: 'mine' },
  spec,
  ...rest,
});
const browserLane = (more: object = {}): unknown =>
  lane({ surface: 'assistant_one', driver: 'browser', profile: PROFILE, ...more });
const modelLane = (more: object = {}): unknown =>
  lane({ surface: 'assistant_two', driver: 'model', model: MODEL, ...more });

describe('a CaptureLane document', () => {
  it('has every default filled in', () => {
    expect(parseLane(browserLane(), 'a.yaml').spec).toEqual({
      surface: 'assistant_one',
      suspend: false,
      driver: 'browser',
      profile: expect.objectContaining({ go: PROFILE.go, read: PROFILE.read }),
      scaling: {
        minReplicas: 0,
        maxReplicas: 3,
        capturesPerPod: 2,
        activationQueue: 1,
        cooldownSeconds: 300,
        stabilizationSeconds: 60,
        pollSeconds: 5,
        fallback: { failureThreshold: 3, replicas: 1 },
      },
      browser: {
        executable: 'headless-shell',
        concurrency: 2,
        allowHosts: [],
        recycle: { uses: 50, ageSeconds: 3600, memoryMiB: 2048 },
      },
      timeouts: { captureSeconds: 120, queueSeconds: 900 },
      egress: [],
      pod: {
        labels: {},
        annotations: {},
        resources: { requests: {}, limits: {} },
        nodeSelector: {},
        tolerations: [],
        secretEnv: [],
      },
    });
  });

  it('names the provider of a model after its host, unless it says another', () => {
    expect(parseLane(modelLane(), 'a').spec).toMatchObject({
      model: { ...MODEL, api: 'chat', providerId: 'models.example' },
    });
    expect(parseLane(modelLane({ model: { ...MODEL, providerId: 'acme' } }), 'a').spec).toMatchObject({
      model: { providerId: 'acme' },
    });
  });

  it('may ask a JSON search API', () => {
    const profile = { go: { url: 'https://a.example/?q={query}' }, read: { results: { items: 'hits', url: 'link' } } };
    const given = { surface: 'engine_search', driver: 'http', httpSecretRef: { name: 'keys', key: 'a' } };
    expect(parseLane(lane({ ...given, profile }), 'a').spec).toMatchObject({
      ...given,
      profile: {
        go: { ...profile.go, method: 'GET', headers: {}, applies: [] },
        read: { results: { ...profile.read.results, format: 'text' } },
      },
    });
    expect(messageOf(() => parseLane(lane({ ...given, profile: { go: {}, read: {} } }), 'a.yaml'))).toBe(
      'a.yaml: spec.profile.go.url: is required\na.yaml: spec.profile.read: must name an answer or results',
    );
  });

  it('keeps what it says', () => {
    const given = {
      suspend: true,
      scaling: { minReplicas: 1, maxReplicas: 9, fallback: { replicas: 4 } },
      browser: { executable: 'chromium', recycle: { uses: 7 } },
      timeouts: { captureSeconds: 30 },
      egress: [{ country: 'DE', proxySecretRef: { name: 'proxies', key: 'de' } }],
      pod: {
        nodeSelector: { pool: 'browsers' },
        tolerations: [{ key: 'browsers', operator: 'Exists' }],
        resources: { limits: { memory: '2Gi' } },
      },
    };
    expect(parseLane(browserLane(given), 'a').spec).toMatchObject(given);
  });

  it('may come from the API server, with its fields', () => {
    const stored = lane(
      { surface: 'assistant_two', driver: 'model', model: MODEL, modelSecretRef: { name: 'keys', key: 'demo' } },
      { metadata: { name: 'mine', namespace: 'x', uid: 'u', generation: 3 }, status: { replicas: 1 } },
    );
    expect(parseLane(stored, 'a')).toMatchObject({
      metadata: { name: 'mine' },
      spec: { modelSecretRef: { name: 'keys', key: 'demo' } },
    });
  });

  it.each([
    { wrong: 'nothing', value: null, message: 'document is required' },
    { wrong: 'a list', value: [], message: 'object' },
    {
      wrong: 'another kind',
      value: lane({}, { kind: 'Watch' }),
      message: 'kind must be one of the following values: CaptureLane',
    },
    {
      wrong: 'another version',
      value: lane({}, { apiVersion: 'v1' }),
      message: 'apiVersion must be one of the following values',
    },
    {
      wrong: 'no surface',
      value: lane({ driver: 'model', model: MODEL }),
      message: 'spec.surface is a required field',
    },
    {
      wrong: 'a wrong surface',
      value: modelLane({ surface: 'bing' }),
      message: 'spec.surface must be one of the following values: assistant_one',
    },
    {
      wrong: 'a wrong driver',
      value: modelLane({ driver: 'fax' }),
      message: 'spec.driver must be one of the following values: browser, model, http',
    },
    { wrong: 'a wrong name', value: lane({}, { metadata: { name: 'No Good' } }), message: 'metadata.name must be' },
    { wrong: 'an unknown key', value: modelLane({ speed: 1 }), message: 'spec has unknown keys: speed' },
    {
      wrong: 'an unknown key deep inside',
      value: browserLane({ browser: { recycle: { hours: 1 } } }),
      message: 'spec.browser.recycle has unknown keys: hours',
    },
    {
      wrong: 'a host that is a URL',
      value: browserLane({ browser: { allowHosts: ['https://cdn.example/'] } }),
      message: 'spec.browser.allowHosts[0]: "https://cdn.example/" must be a host like engine.example',
    },
    {
      wrong: 'a number as text',
      value: modelLane({ timeouts: { captureSeconds: '30' } }),
      message: 'spec.timeouts.captureSeconds must be a `number` type',
    },
    {
      wrong: 'a number out of range',
      value: modelLane({ timeouts: { captureSeconds: 0 } }),
      message: 'spec.timeouts.captureSeconds must be greater than or equal to 1',
    },
    { wrong: 'null for a section', value: modelLane({ scaling: null }), message: 'spec.scaling cannot be null' },
    {
      wrong: 'min above max',
      value: modelLane({ scaling: { minReplicas: 5, maxReplicas: 2 } }),
      message: 'spec.scaling.minReplicas (5) must not be above maxReplicas (2)',
    },
    {
      wrong: 'min above the default max',
      value: modelLane({ scaling: { minReplicas: 5 } }),
      message: 'must not be above maxReplicas (3)',
    },
    {
      wrong: 'a wrong browser',
      value: browserLane({ browser: { executable: 'netscape' } }),
      message: 'spec.browser.executable must be one of the following values: headless-shell, chromium',
    },
    {
      wrong: 'a country in lower case',
      value: browserLane({ egress: [{ country: 'de', proxySecretRef: { name: 'a', key: 'b' } }] }),
      message: 'spec.egress[0].country must be two upper-case letters',
    },
    {
      wrong: 'an egress without a secret',
      value: browserLane({ egress: [{ country: 'DE' }] }),
      message: 'spec.egress[0].proxySecretRef',
    },
    {
      wrong: 'labels that are no text',
      value: browserLane({ pod: { labels: { a: 1 } } }),
      message: 'spec.pod.labels must map names to strings',
    },
    {
      wrong: 'an endpoint that is no URL',
      value: modelLane({ model: { ...MODEL, endpoint: 'ftp://x' } }),
      message: 'spec.model.endpoint must be an http(s) URL',
    },
    {
      wrong: 'a key in place of its variable',
      value: modelLane({ model: { ...MODEL, apiKeyEnv: 'sk-123' } }),
      message: 'spec.model.apiKeyEnv must be the name of an environment variable',
    },
    {
      wrong: 'no profile',
      value: browserLane({ profile: undefined }),
      message: 'spec.profile is required with driver browser',
    },
    { wrong: 'a wrong profile', value: browserLane({ profile: { go: {} } }), message: 'spec.profile' },
    { wrong: 'no model', value: modelLane({ model: undefined }), message: 'spec.model is required with driver model' },
    {
      wrong: 'a profile for a model',
      value: modelLane({ profile: PROFILE }),
      message: 'spec.profile belongs to drivers browser and http',
    },
    {
      wrong: 'a model for a browser',
      value: browserLane({ model: MODEL }),
      message: 'spec.model belongs to driver model',
    },
    {
      wrong: 'a reference to a profile',
      value: browserLane({ profileRef: { name: 'p', key: 'k' } }),
      message: 'spec.profileRef works in a cluster only',
    },
  ])('is refused with $wrong, naming file and place', ({ value, message }) => {
    const said = messageOf(() => parseLane(value, 'lanes/mine.yaml'));
    expect(said).toContain('lanes/mine.yaml: ');
    expect(said).toContain(message);
  });

  it('has all its problems named at once', () => {
    const said = messageOf(() =>
      parseLane(modelLane({ surface: 'bing', speed: 1, timeouts: { queueSeconds: -1 } }), 'a.yaml'),
    );
    expect(said.split('\n')).toHaveLength(3);
  });
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  return 'nothing was thrown';
}
