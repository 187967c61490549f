import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Connection } from '../../pkg/operator/kube/index.ts';
import { connectToKube, createNamespace, describeOnKube } from '../support/kube/cluster.ts';
import { installOurKinds, readManifests, type Manifest } from '../support/kube/definitions.ts';

const PLURALS: Readonly<Record<string, string>> = {
  Watch: 'watches',
  CaptureLane: 'capturelanes',
  ConfigMap: 'configmaps',
  Secret: 'secrets',
};

describeOnKube('our kinds, as a real API server judges them', () => {
  let connection: Connection;
  let namespace = '';
  beforeAll(async () => {
    connection = connectToKube();
    namespace = await createNamespace(connection);
    await installOurKinds(connection);
  });
  afterAll(() => connection.close());

  /** As `kubectl apply` does it, which has the server refuse fields that it does not know. */
  async function apply(manifest: Manifest): Promise<unknown> {
    const { apiVersion, kind, metadata } = manifest;
    const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    return connection.call({
      method: 'PATCH',
      path: `${base}/namespaces/${namespace}/${PLURALS[kind] ?? kind}/${metadata.name}`,
      query: { fieldManager: 'test', force: 'true', fieldValidation: 'Strict' },
      body: manifest,
      contentType: 'application/apply-patch+yaml',
    });
  }

  it.each(['config/samples', 'config/lanes', 'config/lanes/examples', 'config/lanes/examples/by-hand'])(
    'every manifest of %s is accepted',
    async (folder) => {
      for (const { manifest } of await readManifests(folder)) {
        await expect(apply(manifest)).resolves.toMatchObject({ metadata: { name: manifest.metadata.name } });
      }
    },
  );

  it('each field is explained, in words that begin with its name', async () => {
    for (const { file, manifest } of await readManifests('crds')) {
      expect([file, findUnexplained(schemaOf(manifest), '')]).toEqual([file, []]);
    }
  });

  it('nothing is without a bound', async () => {
    for (const { file, manifest } of await readManifests('crds')) {
      expect([file, findUnbounded(schemaOf(manifest), '')]).toEqual([file, []]);
    }
  });

  const lane = (spec: object, name = 'bad'): Manifest => ({
    apiVersion: 'searchcapture.io/v1alpha1',
    kind: 'CaptureLane',
    metadata: { name },
    spec,
  });
  const PROFILE = { go: { url: 'https://x.example' }, ask: [], finished: { quietMs: 1 }, read: { answer: 'p' } };
  const browser = (more: object): Manifest =>
    lane({ surface: 'assistant_one', driver: 'browser', profile: PROFILE, ...more });
  const model = (more: object): Manifest =>
    lane({
      surface: 'assistant_two',
      driver: 'model',
      model: { endpoint: 'https://m.example/v1', model: 'm' },
      ...more,
    });
  const WATCH = {
    query: 'x',
    surfaces: ['assistant_one'],
    schedule: { every: '1h' },
    apiKeySecretRef: { name: 'k', key: 'k' },
  };
  const watch = (more: object): Manifest => ({
    apiVersion: 'searchcapture.io/v1alpha1',
    kind: 'Watch',
    metadata: { name: 'bad' },
    spec: { ...WATCH, ...more },
  });

  it.each<[string, Manifest, RegExp]>([
    ['a lane without a surface', lane({ driver: 'model' }), /spec\.surface: Required value/],
    [
      'an unknown surface',
      browser({ surface: 'bing' }),
      /spec\.surface: Unsupported value: "bing": supported values: "assistant_one"/,
    ],
    ['an unknown driver', browser({ driver: 'fax' }), /spec\.driver: Unsupported value: "fax"/],
    ['an unknown field', browser({ speed: 1 }), /speed: field not declared in schema|unknown field "spec\.speed"/],
    [
      'a browser lane without a profile',
      browser({ profile: undefined }),
      /drivers browser and http need exactly one of profile and profileRef/,
    ],
    [
      'a browser lane with two profiles',
      browser({ profileRef: { name: 'a', key: 'b' } }),
      /exactly one of profile and profileRef/,
    ],
    [
      'a profile without its end',
      browser({ profile: { ...PROFILE, finished: undefined } }),
      /the profile of driver browser needs ask .* and finished/,
    ],
    [
      'a profile that starts nowhere',
      browser({ profile: { ...PROFILE, go: { url: 'file:///etc' } } }),
      /spec\.profile\.go\.url/,
    ],
    [
      'a model for a browser',
      browser({ model: { endpoint: 'https://m.example', model: 'm' } }),
      /model is required with driver model, and belongs to no other driver/,
    ],
    ['a model lane without a model', model({ model: undefined }), /model is required with driver model/],
    ['a profile for a model', model({ profile: PROFILE }), /profile belongs to drivers browser and http/],
    [
      'a secret for no model',
      browser({ modelSecretRef: { name: 'a', key: 'b' } }),
      /modelSecretRef belongs to driver model/,
    ],
    [
      'an endpoint with a query',
      model({ model: { endpoint: 'https://m.example?x=1', model: 'm' } }),
      /spec\.model\.endpoint/,
    ],
    [
      'a variable that is a key',
      model({ model: { endpoint: 'https://m.example', model: 'm', apiKeyEnv: 'sk-1' } }),
      /spec\.model\.apiKeyEnv/,
    ],
    [
      'min above max',
      browser({ scaling: { minReplicas: 5, maxReplicas: 2 } }),
      /minReplicas must not be above maxReplicas/,
    ],
    [
      'min above the default max',
      browser({ scaling: { minReplicas: 5 } }),
      /minReplicas must not be above maxReplicas/,
    ],
    [
      'no pods at most',
      browser({ scaling: { maxReplicas: 0 } }),
      /spec\.scaling\.maxReplicas.*greater than or equal to 1/,
    ],
    ['a number as text', browser({ timeouts: { captureSeconds: '30' } }), /captureSeconds.*(integer|expected numeric)/],
    [
      'a lower-case country',
      browser({ egress: [{ country: 'de', proxySecretRef: { name: 'a', key: 'b' } }] }),
      /spec\.egress\[0\]\.country/,
    ],
    [
      'two proxies for one country',
      browser({ egress: ['a', 'b'].map((name) => ({ country: 'DE', proxySecretRef: { name, key: 'b' } })) }),
      /spec\.egress: duplicate entries|Duplicate value/,
    ],
    [
      'a quantity that is none',
      browser({ pod: { resources: { limits: { memory: 'much' } } } }),
      /spec\.pod\.resources\.limits\.memory/,
    ],
    ['a name with a dot', { ...browser({}), metadata: { name: 'a.b' } }, /name must be at most 58 lower-case letters/],
    [
      'a name too long',
      { ...browser({}), metadata: { name: 'a'.repeat(59) } },
      /name must be at most 58 lower-case letters/,
    ],
    ['a watch without a query', watch({ query: undefined }), /spec\.query: Required value/],
    ['an empty query', watch({ query: '' }), /spec\.query.*at least 1/],
    ['a query of white space', watch({ query: ' ' }), /query must not be only white space/],
    ['a query too long', watch({ query: 'a'.repeat(2001) }), /spec\.query: Too long/],
    ['no surfaces', watch({ surfaces: [] }), /spec\.surfaces.*at least 1/],
    ['a surface twice', watch({ surfaces: ['engine_news', 'engine_news'] }), /spec\.surfaces.*(Duplicate|duplicate)/],
    ['an unknown surface of a watch', watch({ surfaces: ['bing'] }), /spec\.surfaces\[0\]: Unsupported value/],
    [
      'eleven regions',
      watch({ regions: Array.from({ length: 11 }, () => ({ country: 'DE' })) }),
      /spec\.regions: Too many/,
    ],
    ['a country that is none', watch({ regions: [{ country: 'Germany' }] }), /spec\.regions\[0\]\.country/],
    ['no schedule', watch({ schedule: {} }), /exactly one of every and intervalMinutes must be set/],
    ['two schedules', watch({ schedule: { every: '1h', intervalMinutes: 60 } }), /spec\.schedule/],
    ['an unknown interval', watch({ schedule: { every: '2h' } }), /spec\.schedule\.every: Unsupported value: "2h"/],
    [
      'no minutes',
      watch({ schedule: { intervalMinutes: 0 } }),
      /spec\.schedule\.intervalMinutes.*greater than or equal to 1/,
    ],
    ['an address that is none', watch({ webhookUrl: 'ftp://x' }), /spec\.webhookUrl/],
    ['no key', watch({ apiKeySecretRef: undefined }), /spec\.apiKeySecretRef: Required value/],
    [
      'eleven targets',
      watch({ extract: { targets: Array.from({ length: 11 }, (_, n) => `t${n}`) } }),
      /spec\.extract\.targets: Too many/,
    ],
  ])('%s is refused, with the reason', async (_, manifest, message) => {
    await expect(apply(manifest)).rejects.toThrow(message);
  });

  it("a lane's surface stays what it was", async () => {
    await apply({ ...browser({}), metadata: { name: 'fixed' } });
    const other = { ...browser({ surface: 'assistant_three' }), metadata: { name: 'fixed' } };
    await expect(apply(other)).rejects.toThrow(/surface can't be changed; delete this lane and create another/);
  });

  it('lanes can be selected by their surface', async () => {
    await apply({ ...browser({}), metadata: { name: 'selected' } });
    await apply({ ...browser({ surface: 'assistant_three' }), metadata: { name: 'left-out' } });
    const found = await connection.call({
      method: 'GET',
      path: `/apis/searchcapture.io/v1alpha1/namespaces/${namespace}/capturelanes`,
      query: { fieldSelector: 'spec.surface=assistant_three' },
    });
    const items = isRecord(found) && Array.isArray(found['items']) ? found['items'].filter(isRecord) : [];
    const surfaces = items.map(({ spec }) => (isRecord(spec) ? spec['surface'] : undefined));
    expect(new Set(surfaces)).toEqual(new Set(['assistant_three']));
    const names = items.map(({ metadata }) => (isRecord(metadata) ? metadata['name'] : undefined));
    expect(names).toContain('left-out');
    expect(names).not.toContain('selected');
  });

  it('what a lane leaves out has the same defaults as in a file', async () => {
    const { parseLane } = await import('../../pkg/lanes/index.ts');
    const given = { ...browser({}), metadata: { name: 'defaults' } };
    const stored = await apply(given);
    expect(isRecord(stored) && isRecord(stored['spec']) ? stored['spec'] : {}).toMatchObject(
      Object.fromEntries(
        ['suspend', 'scaling', 'browser', 'timeouts'].map((field) => [
          field,
          Reflect.get(parseLane(given, 'x').spec, field),
        ]),
      ),
    );
  });
});

type Schema = Record<string, unknown>;

function schemaOf(manifest: Manifest): Schema {
  const spec = manifest['spec'];
  const versions = isRecord(spec) ? spec['versions'] : undefined;
  const version: unknown = Array.isArray(versions) ? versions[0] : undefined;
  const schema = isRecord(version) ? version['schema'] : undefined;
  const root = isRecord(schema) ? schema['openAPIV3Schema'] : undefined;
  if (!isRecord(root)) throw new Error('a definition needs a schema');
  return root;
}

/** The schema of each field below this one, with its path and its own name; that of a list's items has no name. */
function fieldsOf(schema: Schema): { name: string | null; schema: Schema }[] {
  const named = isRecord(schema['properties']) ? Object.entries(schema['properties']) : [];
  const unnamed = ['items', 'additionalProperties'].flatMap((key) => (isRecord(schema[key]) ? [schema[key]] : []));
  return [
    ...named.flatMap(([name, below]) => (isRecord(below) ? [{ name, schema: below }] : [])),
    ...unnamed.map((below) => ({ name: null, schema: below })),
  ];
}

function findUnexplained(schema: Schema, path: string): string[] {
  return fieldsOf(schema).flatMap(({ name, schema: below }) => {
    const place = `${path}.${name ?? '[]'}`;
    // The API server explains metadata itself, and lets nobody else do so.
    if (place === '.metadata') return [];
    const words = below['description'];
    const explained =
      name === null ||
      (typeof words === 'string' &&
        new RegExp(
          `^${name} (is|are|says?|asks|names|tells|adds?|takes|fixes|pauses|selects|select|be|was|will) `,
        ).test(words));
    return [...(explained ? [] : [place]), ...findUnexplained(below, place)];
  });
}

function findUnbounded(schema: Schema, path: string): string[] {
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const bounded =
    { string: 'maxLength', array: 'maxItems' }[String(schema['type'])] ??
    (isRecord(schema['additionalProperties']) ? 'maxProperties' : null);
  const wrong = !open && bounded !== null && schema[bounded] === undefined && !['.apiVersion', '.kind'].includes(path);
  const below = fieldsOf(schema).filter(({ name }) => path !== '' || name !== 'metadata');
  return [
    ...(wrong ? [path] : []),
    ...below.flatMap(({ name, schema: s }) => findUnbounded(s, `${path}.${name ?? '[]'}`)),
  ];
}

describe('the definitions', () => {
  it('are two, in one group and category', async () => {
    const found = (await readManifests('crds')).map(({ manifest }) => manifest);
    expect(found.map(({ metadata }) => metadata.name)).toEqual([
      'capturelanes.searchcapture.io',
      'watches.searchcapture.io',
    ]);
    for (const { spec } of found)
      expect(spec).toMatchObject({ names: { categories: ['searchcapture'] }, scope: 'Namespaced' });
  });
});

function isRecord(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
