import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addFinalizer,
  core,
  createApplier,
  isDeleting,
  removeFinalizer,
  resourceClient,
  setConditions,
  type Applier,
  type Connection,
  type Deployment,
  type Desired,
  type ResourceClient,
} from '../../pkg/operator/kube/index.ts';
import {
  connectToKube,
  createNamespace,
  describeOnKube,
  installWidgets,
  widgets,
  type Widget,
} from '../support/kube/cluster.ts';

describeOnKube('writing to the API server', () => {
  let connection: Connection;
  let namespace = '';
  let deployments: ResourceClient<Deployment>;
  let things: ResourceClient<Widget>;
  const applier: Applier = createApplier('ours');
  beforeAll(async () => {
    connection = connectToKube();
    await installWidgets(connection);
  });
  afterAll(() => connection.close());
  beforeEach(async () => {
    namespace = await createNamespace(connection);
    deployments = resourceClient(connection, core.deployments);
    things = resourceClient(connection, widgets);
  });

  const labels = { app: 'web' };
  const container = {
    name: 'web',
    image: 'web:1',
    env: [{ name: 'A', value: '1' }],
    ports: [{ containerPort: 80, name: 'http' }],
    resources: { limits: { memory: '1024Mi', cpu: '1000m' }, requests: { cpu: '0.5' } },
    args: ['--a', '--b'],
    securityContext: { capabilities: { drop: ['ALL'] } },
  };
  const wanted = (change: object = {}): Desired<Deployment> => ({
    metadata: { namespace, name: 'web', labels },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ ...container, ...change }], terminationGracePeriodSeconds: 60 },
      },
    },
  });
  const read = (): Promise<Deployment> => deployments.get({ namespace, name: 'web' });

  describe('with an applier', () => {
    it('creates once, and then makes no call while everything is as it should be, defaults and rewritten values or not', async () => {
      const { change, object } = await applier.ensure(deployments, undefined, wanted());
      expect(change).toBe('created');
      expect(object.spec?.template.spec?.containers[0]?.resources?.limits).toEqual({ memory: '1Gi', cpu: '1' });
      const live = await read();
      expect(await applier.ensure(cut(deployments), live, wanted())).toEqual({ object: live, change: 'unchanged' });
    });

    it.each([
      { what: 'a value', change: { image: 'web:2' } },
      { what: 'a value in a list by key', change: { env: [{ name: 'A', value: '2' }] } },
      { what: 'a new item in a list by key', change: { env: [...container.env, { name: 'B', value: '1' }] } },
      { what: 'another item in place of one', change: { env: [{ name: 'B', value: '1' }] } },
      { what: 'a port', change: { ports: [{ containerPort: 81, name: 'http' }] } },
      { what: 'the order in a plain list', change: { args: ['--b', '--a'] } },
      { what: 'one item less in a plain list', change: { args: ['--a'] } },
      {
        what: 'an amount',
        change: { resources: { limits: { memory: '1Gi', cpu: '1001m' }, requests: { cpu: '0.5' } } },
      },
      { what: 'a field that is not given any more', change: { args: undefined } },
      {
        what: 'an amount that is not given any more',
        change: { resources: { limits: { memory: '1Gi' }, requests: { cpu: '0.5' } } },
      },
    ])('writes $what', async ({ change }) => {
      await applier.ensure(deployments, undefined, wanted());
      expect((await applier.ensure(deployments, await read(), wanted(change))).change).toBe('changed');
      expect((await applier.ensure(cut(deployments), await read(), wanted(change))).change).toBe('unchanged');
    });

    it('takes back what another has changed, and leaves alone what another has added', async () => {
      await applier.ensure(deployments, undefined, wanted());
      const theirs = {
        metadata: { annotations: { note: 'theirs' }, labels: { app: 'changed' } },
        spec: { replicas: 3 },
      };
      await deployments.patch({ namespace, name: 'web' }, { type: 'merge', body: theirs });
      const { change, object } = await applier.ensure(deployments, await read(), wanted());
      expect(change).toBe('changed');
      expect(object.metadata.labels).toEqual(labels);
      expect(object.metadata.annotations).toMatchObject({ note: 'theirs' });
      expect(object.spec?.replicas).toBe(3);
      expect((await applier.ensure(cut(deployments), await read(), wanted())).change).toBe('unchanged');
    });

    it('takes over an object that was written by others only', async () => {
      await deployments.apply(wanted(), { fieldManager: 'theirs' });
      await applier.ensure(deployments, await read(), wanted());
      expect((await applier.ensure(cut(deployments), await read(), wanted())).change).toBe('unchanged');
    });

    it('writes a status once, with its conditions', async () => {
      const key = { namespace, name: 'one' };
      const { metadata } = await things.create({ metadata: key, spec: { size: 1 } });
      const status = (size: number, nowMs: number, before?: Widget) => {
        const verdict = { type: 'Ready', status: 'True', reason: 'Fine', message: 'All is well' } as const;
        const conditions = setConditions(before?.status?.conditions, [verdict], {
          generation: metadata.generation ?? 0,
          nowMs,
        });
        return { metadata: key, status: { size, conditions } };
      };
      const first = await applier.ensureStatus(things, await things.get(key), status(1, Date.now()));
      expect(first.object.status?.size).toBe(1);
      const live = await things.get(key);
      expect((await applier.ensureStatus(cut(things), live, status(1, Date.now() + 60_000, live))).change).toBe(
        'unchanged',
      );
      expect((await applier.ensureStatus(things, live, status(2, Date.now(), live))).change).toBe('changed');
      expect((await things.get(key)).spec?.size).toBe(1);
    });
  });

  it('gives replicas a writer of their own, whom an apply does not disturb', async () => {
    await deployments.apply(wanted(), { fieldManager: 'ours' });
    await deployments.scale({ namespace, name: 'web' }, 4, { fieldManager: 'scaler' });
    const { object } = await applier.ensure(deployments, await read(), wanted({ image: 'web:2' }));
    expect(object.spec?.replicas).toBe(4);
    const owner = object.metadata.managedFields?.find(({ manager }) => manager === 'scaler');
    expect(owner).toMatchObject({ subresource: 'scale', fieldsV1: { 'f:spec': { 'f:replicas': {} } } });
  });

  it('says whose field it is when it may not take it', async () => {
    await deployments.apply(wanted(), { fieldManager: 'theirs' });
    const refused = deployments.apply(wanted({ image: 'web:2' }), { fieldManager: 'ours', force: false });
    await expect(refused).rejects.toMatchObject({ failure: 'conflict' });
    await expect(refused).rejects.toThrow('"theirs"');
  });

  it('does not write when it leads no more', async () => {
    let leads = true;
    const guarded = resourceClient(
      connection.guardedBy(() => leads),
      core.deployments,
    );
    await guarded.apply(wanted(), { fieldManager: 'ours' });
    leads = false;
    await expect(guarded.apply(wanted(), { fieldManager: 'ours' })).rejects.toMatchObject({ failure: 'notLeading' });
    expect((await guarded.get({ namespace, name: 'web' })).metadata.name).toBe('web');
  });

  describe('finalizers', () => {
    const key = () => ({ namespace, name: 'one' });
    it('hold an object until they are gone, and are written once', async () => {
      const made = await things.create({ metadata: key() });
      const held = await addFinalizer(things, made, 'example.com/ours');
      expect(await addFinalizer(cut(things), held, 'example.com/ours')).toBe(held);
      await things.delete(key());
      const going = await things.get(key());
      expect(isDeleting(going)).toBe(true);
      await removeFinalizer(things, going, 'example.com/ours');
      expect(await things.find(key())).toBeUndefined();
      await removeFinalizer(things, going, 'example.com/ours');
      await removeFinalizer(
        cut(things),
        { ...going, metadata: { ...going.metadata, finalizers: [] } },
        'example.com/ours',
      );
    });

    it('of others are never dropped by one who has not seen them', async () => {
      const made = await things.create({ metadata: { ...key(), finalizers: ['example.com/ours'] } });
      await addFinalizer(things, made, 'example.com/theirs');
      await expect(removeFinalizer(things, made, 'example.com/ours')).rejects.toMatchObject({ failure: 'conflict' });
      await expect(addFinalizer(things, made, 'example.com/third')).rejects.toMatchObject({ failure: 'conflict' });
      await removeFinalizer(things, await things.get(key()), 'example.com/ours');
      expect((await things.get(key())).metadata.finalizers).toEqual(['example.com/theirs']);
    });
  });
});

/** The same client, on which any call to write fails the test. */
function cut<T extends { apply: unknown; applyStatus: unknown; patch: unknown }>(resources: T): T {
  const fail = (): Promise<never> => Promise.reject(new Error('nothing was to be written'));
  return { ...resources, apply: fail, applyStatus: fail, patch: fail };
}
