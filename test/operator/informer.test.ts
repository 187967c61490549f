import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { fetch } from 'undici';
import {
  createInformer,
  keyOf,
  resourceClient,
  connect,
  loadKubeConfig,
  type Change,
  type Connection,
  type Informer,
  type InformerTiming,
  type ResourceClient,
} from '../../pkg/operator/kube/index.ts';
import {
  connectVia,
  createNamespace,
  describeOnKube,
  installWidgets,
  testLog,
  widgets,
  type Widget,
} from '../support/kube/cluster.ts';
import { startProxy, type Proxy } from '../support/kube/proxy.ts';
import { startKube, type KubeServer } from '../support/kube/server.ts';
import { readVariable } from '../support/environment.ts';
import { until } from '../support/poll.ts';

// An API server of its own: it is stopped, frozen, and its history is compacted.
describeOnKube('an informer', () => {
  let server: KubeServer;
  let direct: Connection;
  let proxied: Connection;
  let proxy: Proxy;
  let namespace = '';
  let near: ResourceClient<Widget>;
  let informer: Informer<Widget, 'colour'> | undefined;
  let changes: Change<Widget>[] = [];
  let registry = new Registry();

  beforeAll(async () => {
    server = await startKube(readVariable('TEST_KUBE_PROGRAMS'));
    direct = connect({ kubeConfig: loadKubeConfig(server.kubeConfigFile), userAgent: 'test' });
    proxy = await startProxy(server.port);
    proxied = connectVia(server, proxy.port);
    near = resourceClient(direct, widgets);
    await installWidgets(direct);
  });
  afterAll(async () => {
    await proxied.close();
    await proxy.close();
    await direct.close();
    await server.close();
  });
  beforeEach(async () => {
    namespace = await createNamespace(direct);
    changes = [];
    registry = new Registry();
  });
  afterEach(() => informer?.stop());

  async function start(timing: Partial<InformerTiming> = {}): Promise<Informer<Widget, 'colour'>> {
    informer = createInformer<Widget, 'colour'>({
      resources: resourceClient(proxied, widgets),
      scope: { namespace },
      indexes: { colour: ({ spec }) => spec?.colours ?? [] },
      log: testLog,
      registry,
      timing: { backOffMinMs: 50, backOffMaxMs: 500, ...timing },
    });
    informer.subscribe((change) => changes.push(change));
    informer.start();
    await informer.synced(AbortSignal.timeout(30_000));
    return informer;
  }

  const put = (name: string, size = 1, colours: string[] = []): Promise<Widget> =>
    near.apply({ metadata: { namespace, name }, spec: { size, colours } }, { fieldManager: 'test' });
  const told = (): string[] =>
    changes.map(({ key, before, after }) => `${key.name} ${before?.spec?.size ?? '-'} ${after?.spec?.size ?? '-'}`);
  const holds = (what: string, condition: () => boolean, timeoutMs = 30_000): Promise<true> =>
    until(condition, { timeoutMs, what });
  const sizeOf = (name: string): number | undefined => informer?.get({ namespace, name })?.spec?.size;

  async function lists(): Promise<number> {
    const metric = await registry.getSingleMetric('kube_informer_lists_total')?.get();
    return metric?.values[0]?.value ?? 0;
  }

  /** Makes the server forget all versions up to now. */
  async function compact(): Promise<void> {
    const revision = Number((await near.list({ namespace })).resourceVersion);
    const body = JSON.stringify({ revision: String(revision), physical: true });
    const reply = await fetch(`${server.etcdUrl}/v3/kv/compaction`, { method: 'POST', body });
    if (!reply.ok) throw new Error(await reply.text());
  }

  it('tells when it shows what a write answered with, and waits for no version that never comes', async () => {
    const shown = await start();
    const signal = AbortSignal.timeout(30_000);
    proxy.delay(200);
    const written = await put('one', 7);
    expect(sizeOf('one')).toBeUndefined();
    await shown.shows(written, signal);
    expect(sizeOf('one')).toBe(7);
    // At once: it is there already.
    await shown.shows(written, AbortSignal.abort());
    proxy.delay(0);
    await shown.shows({ ...written, metadata: { ...written.metadata, resourceVersion: 'never' } }, signal);
    expect(signal.aborted).toBe(false);
  });

  it('holds what is there, follows each change, and finds by index', async () => {
    await put('one', 1, ['red', 'blue']);
    const held = await start();
    await put('two', 2, ['red']);
    await put('one', 3, ['blue']);
    await holds('both changes', () => changes.length === 3);
    expect(held.byIndex('colour', 'red').map((object) => keyOf(object).name)).toEqual(['two']);
    expect(held.byIndex('colour', 'blue').map((object) => keyOf(object).name)).toEqual(['one']);
    await near.delete({ namespace, name: 'two' });
    await holds('the deletion', () => changes.length === 4);
    expect(told()).toEqual(['one - 1', 'two - 2', 'one 1 3', 'two 2 -']);
    expect(held.byIndex('colour', 'red')).toEqual([]);
    expect(held.list()).toHaveLength(1);
    expect(held.list('elsewhere')).toEqual([]);
  });

  it('keeps nothing of managed fields unless asked to', async () => {
    await put('one');
    const held = await start();
    expect(held.get({ namespace, name: 'one' })?.metadata).not.toHaveProperty('managedFields');
    expect((await near.get({ namespace, name: 'one' })).metadata.managedFields).toHaveLength(1);
  });

  it('goes on where it was after its connection is cut, and tells nothing twice', async () => {
    await start();
    for (const size of [1, 2, 3]) {
      await put('one', size);
      await holds(`size ${size}`, () => sizeOf('one') === size);
      proxy.cut();
    }
    expect(told()).toEqual(['one - 1', 'one 1 2', 'one 2 3']);
    expect(await lists()).toBe(1);
  });

  it('notices that a connection is dead though it is open', async () => {
    await start({ inactivityMs: 1_000 });
    await put('one', 1);
    await holds('size 1', () => sizeOf('one') === 1);
    proxy.stall();
    await put('one', 2);
    await holds('size 2', () => sizeOf('one') === 2, 15_000);
  });

  it('reads everything anew when the version it knows is compacted away, and tells of what is gone', async () => {
    await put('kept', 1);
    await put('lost', 1);
    await start();
    proxy.refuse(true);
    proxy.cut();
    await near.delete({ namespace, name: 'lost' });
    await put('kept', 2);
    await put('new', 1);
    // The API server itself remembers some history; a new one remembers none.
    await compact();
    await server.restart();
    proxy.refuse(false);
    await holds('the new one', () => sizeOf('new') === 1, 60_000);
    await holds('three more changes', () => changes.length === 5);
    expect(told().slice(2).sort()).toEqual(['kept 1 2', 'lost 1 -', 'new - 1']);
    expect(await registry.metrics()).toContain('kube_informer_watch_ends_total{kind="widgets",reason="expired"} 1');
    expect(await lists()).toBe(2);
  });

  it('sees that an object of the same name is another', async () => {
    const { uid } = (await put('one', 1)).metadata;
    const held = await start();
    proxy.refuse(true);
    proxy.cut();
    await near.delete({ namespace, name: 'one' });
    await put('one', 1);
    proxy.refuse(false);
    await holds('the other one', () => {
      const now = held.get({ namespace, name: 'one' })?.metadata.uid;
      return now !== undefined && now !== uid;
    });
  });

  it('waits while the API server is away, does not storm it, and goes on when it is back', async () => {
    await put('one', 1);
    await start();
    await server.kill9();
    const openedBefore = proxy.opened();
    await holds('some attempts', () => proxy.opened() - openedBefore >= 8);
    const startedMs = performance.now();
    await holds('some more', () => proxy.opened() - openedBefore >= 14);
    // Six attempts, each half a second to a second apart, though not less than a quarter with jitter.
    expect(performance.now() - startedMs).toBeGreaterThan(6 * 250 * 0.9);
    await server.restart();
    await put('one', 2);
    await holds('size 2', () => sizeOf('one') === 2);
  });

  it('survives an API server that hangs', async () => {
    await put('one', 1);
    await start({ inactivityMs: 1_000, listTimeoutMs: 1_000 });
    const openedBefore = proxy.opened();
    server.freeze();
    try {
      await holds('it has tried again', () => proxy.opened() - openedBefore >= 2);
    } finally {
      server.thaw();
    }
    await put('one', 2);
    await holds('size 2', () => sizeOf('one') === 2);
  });

  it('reads everything anew now and then, though nothing seems wrong', async () => {
    await put('one', 1);
    await start({ watchMinMs: 1_000, watchMaxMs: 1_000, relistMs: 500 });
    await until(async () => (await lists()) >= 3, { timeoutMs: 30_000, what: 'two more lists' });
    expect(told()).toEqual(['one - 1']);
  });

  it('stops, and is told nothing any more', async () => {
    const running = await start();
    await running.stop();
    await put('one', 1);
    expect(told()).toEqual([]);
    await expect(createdButNotStarted().synced(AbortSignal.timeout(10))).rejects.toThrow('first list of widgets');
  });

  const createdButNotStarted = (): Informer<Widget> => createInformer({ resources: near, log: testLog });
});
