import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { core, resourceClient, KubeError, type Connection } from '../../pkg/operator/kube/index.ts';
import { connectToKube, createNamespace, describeOnKube, installWidgets, widgets } from '../support/kube/cluster.ts';

describeOnKube('the client of one kind', () => {
  let connection: Connection;
  let namespace = '';
  beforeAll(async () => {
    connection = connectToKube();
    namespace = await createNamespace(connection);
    await installWidgets(connection);
  });
  afterAll(() => connection.close());

  it('creates, finds, and deletes', async () => {
    const resources = resourceClient(connection, widgets);
    const key = { namespace, name: 'one' };
    expect(await resources.find(key)).toBeUndefined();
    await expect(resources.get(key)).rejects.toMatchObject({ failure: 'notFound', status: 404, reason: 'NotFound' });
    const made = await resources.create({ metadata: key, spec: { size: 1 } });
    expect(await resources.get(key)).toEqual(made);
    await expect(resources.create({ metadata: key })).rejects.toMatchObject({ failure: 'alreadyExists' });
    expect(await resources.delete(key)).toBe(true);
    expect(await resources.delete(key)).toBe(false);
  });

  it('names the field that the server refuses, and is terminal then', async () => {
    const resources = resourceClient(connection, widgets);
    const refused = resources.apply(
      { metadata: { namespace, name: 'big' }, spec: { size: 1001 } },
      { fieldManager: 'a' },
    );
    const error: unknown = await refused.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(KubeError);
    expect(error).toMatchObject({ failure: 'invalid', problems: [{ field: 'spec.size' }] });
  });

  it('lists more than a page, and says of built-in kinds what they are', async () => {
    const maps = resourceClient(connection, core.configMaps);
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      await maps.create({ metadata: { namespace, name, labels: { of: 'pages' } } });
    const { items, resourceVersion } = await maps.list({ namespace, pageSize: 2, labelSelector: 'of=pages' });
    expect(items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
      'abcde'.split('').map((name) => `ConfigMap ${name}`),
    );
    expect(Number(resourceVersion)).toBeGreaterThan(0);
  });
});
