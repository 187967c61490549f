import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import {
  TerminalError,
  controllerFor,
  controllerReference,
  core,
  createApplier,
  createInformer,
  formatKey,
  keepManagedFieldsOf,
  resourceClient,
  type ConfigMap,
  type Connection,
  type Controller,
  type ControllerOptions,
  type Informer,
  type Key,
  type Reconcile,
} from '../../pkg/operator/kube/index.ts';
import {
  connectToKube,
  createNamespace,
  describeOnKube,
  installWidgets,
  testLog,
  widgets,
  type Widget,
} from '../support/kube/cluster.ts';
import { until } from '../support/poll.ts';

describeOnKube('a controller', () => {
  let connection: Connection;
  let namespace = '';
  let informer: Informer<Widget>;
  let maps: Informer<ConfigMap>;
  let controller: Controller | undefined;
  let passes: string[] = [];
  let registry = new Registry();

  beforeAll(async () => {
    connection = connectToKube();
    await installWidgets(connection);
  });
  afterAll(() => connection.close());
  beforeEach(async () => {
    namespace = await createNamespace(connection);
    passes = [];
    registry = new Registry();
    const options = { scope: { namespace }, log: testLog };
    informer = createInformer({
      resources: resourceClient(connection, widgets),
      ...options,
      transform: keepManagedFieldsOf('test'),
    });
    maps = createInformer({ resources: resourceClient(connection, core.configMaps), ...options });
    informer.start();
    maps.start();
  });
  afterEach(async () => {
    await controller?.stop(0);
    await Promise.all([informer.stop(), maps.stop()]);
  });

  const describeController = (reconcile: Reconcile, more: Partial<ControllerOptions<Widget>> = {}) =>
    controllerFor({
      name: 'test',
      informer,
      log: testLog,
      registry,
      backOff: { minMs: 20, maxMs: 200 },
      reconcile: async (key, signal) => {
        passes.push(key.name);
        return reconcile(key, signal);
      },
      ...more,
    });
  const nothing: Reconcile = () => Promise.resolve({});
  const put = (name: string, size = 1) =>
    informer.resources.apply({ metadata: { namespace, name }, spec: { size } }, { fieldManager: 'user' });
  const putMap = (name: string, more: Partial<ConfigMap['metadata']> = {}, data = {}) =>
    maps.resources.apply({ metadata: { namespace, name, ...more }, data }, { fieldManager: 'user' });
  const passed = (count: number): Promise<true> =>
    until(() => passes.length >= count, { timeoutMs: 20_000, what: `${count} passes, not only ${passes.join()}` });
  /** After it, everything that was written before has been seen and worked on. */
  async function settled(): Promise<void> {
    await put('marker', Math.floor(Math.random() * 1_000));
    await until(() => passes.includes('marker'), { timeoutMs: 20_000, what: 'the marker' });
    passes = passes.filter((name) => name !== 'marker');
  }

  it('works on each key that is there, on each that changes, and on each that goes', async () => {
    await put('old');
    controller = describeController(nothing).start();
    await passed(1);
    await put('new');
    await passed(2);
    await put('new', 2);
    await passed(3);
    await informer.resources.delete({ namespace, name: 'new' });
    await passed(4);
    expect(passes).toEqual(['old', 'new', 'new', 'new']);
  });

  it('works on all keys anew when it starts on informers that are full already', async () => {
    await put('one');
    await informer.synced(AbortSignal.timeout(20_000));
    controller = describeController(nothing).start();
    await passed(1);
    expect(controller.isRunning()).toBe(true);
  });

  it('writes nothing and sleeps once status is as it should be', async () => {
    const applier = createApplier('test');
    const written: string[] = [];
    controller = describeController(async (key, signal) => {
      const widget = informer.get(key);
      if (widget === undefined) return {};
      const desired = { metadata: key, status: { size: widget.spec?.size ?? 0 } };
      const { change } = await applier.ensureStatus(informer.resources, widget, desired, { signal });
      if (change !== 'unchanged') written.push(key.name);
      return {};
    }).start();
    await put('one', 3);
    await until(async () => (await informer.resources.get({ namespace, name: 'one' })).status?.size === 3, {
      timeoutMs: 20_000,
      what: 'the status',
    });
    await settled();
    expect(passes).toEqual(['one']);
    for (let pass = 0; pass < 5; pass += 1) controller.enqueue({ namespace, name: 'one' });
    await settled();
    expect(written.filter((name) => name === 'one')).toEqual(['one']);
  });

  it('is woken by what its objects control, whatever version the reference names, and by nothing else', async () => {
    const owner = await put('owner');
    const reference = controllerReference(owner);
    controller = describeController(nothing).owns(maps).start();
    await passed(1);
    await putMap('child', { ownerReferences: [{ ...reference, apiVersion: 'test.example.com/v9' }] });
    await passed(2);
    await putMap('child', { ownerReferences: [reference] }, { changed: 'yes' });
    await passed(3);
    await maps.resources.delete({ namespace, name: 'child' });
    await passed(4);
    await putMap('not-controlled', { ownerReferences: [{ ...reference, controller: false }] });
    await putMap('of-another-kind', { ownerReferences: [{ ...reference, kind: 'Gadget' }] });
    await putMap('of-another-group', { ownerReferences: [{ ...reference, apiVersion: 'other.example.com/v1' }] });
    await until(() => maps.list().length >= 3, { timeoutMs: 20_000, what: 'the maps' });
    await settled();
    expect(passes).toEqual(['owner', 'owner', 'owner', 'owner']);
  });

  it('is woken by what its mapper names, for the object as it was and as it is', async () => {
    const named = ({ data }: ConfigMap): Key[] =>
      data?.['widget'] === undefined ? [] : [{ namespace, name: data['widget'] }];
    controller = describeController(nothing).watches(maps, named).start();
    await putMap('pointer', {}, { widget: 'first' });
    await passed(1);
    await putMap('pointer', {}, { widget: 'second' });
    await passed(3);
    expect([...passes].sort()).toEqual(['first', 'first', 'second']);
  });

  it('outlives a mapper that throws', async () => {
    const broken = (): Key[] => {
      throw new Error('a bug');
    };
    controller = describeController(nothing).watches(maps, broken).start();
    await putMap('any');
    await until(() => maps.list().length > 0, { timeoutMs: 20_000, what: 'the map' });
    await put('one');
    await passed(1);
  });

  it('is woken from outside until it stops', async () => {
    let ring: (key: Key) => void = () => undefined;
    let isStopped = false;
    controller = describeController(nothing)
      .triggeredBy((enqueue) => {
        ring = enqueue;
        return () => (isStopped = true);
      })
      .start();
    ring({ namespace, name: 'rung' });
    await passed(1);
    await controller.stop();
    expect(isStopped).toBe(true);
    ring({ namespace, name: 'too-late' });
    expect(passes).toEqual(['rung']);
  });

  it('comes again after the time that the pass asked for, and never spins on none', async () => {
    const startedMs = performance.now();
    controller = describeController(() => Promise.resolve({ requeueAfterMs: -1 })).start();
    await put('one');
    await passed(4);
    expect(performance.now() - startedMs).toBeGreaterThan(3 * 99);
  });

  it('comes again to every key now and then where a resync is asked for, but not to keys that are gone', async () => {
    controller = describeController(nothing, { resyncMs: 50 }).start();
    await put('one');
    await passed(3);
    await informer.resources.delete({ namespace, name: 'one' });
    await until(() => informer.list().length === 0, { timeoutMs: 20_000, what: 'it is gone' });
    await settled();
    const count = passes.length;
    await put('other');
    await until(() => passes.filter((name) => name === 'other').length >= 3, { timeoutMs: 20_000, what: 'resyncs' });
    // One was planned before it went.
    expect(passes.slice(count).filter((name) => name === 'one').length).toBeLessThan(2);
  });

  describe('when a pass fails', () => {
    const counts = (line: string): Promise<true> =>
      until(async () => (await registry.metrics()).includes(`controller_runtime_${line}\n`), {
        timeoutMs: 20_000,
        what: line,
      });

    it('tries again with a growing wait until it succeeds', async () => {
      const times: number[] = [];
      controller = describeController(() => {
        times.push(performance.now());
        return times.length < 5 ? Promise.reject(new Error('not yet')) : Promise.resolve({});
      }).start();
      await put('one');
      await passed(5);
      const waits = times.slice(1).map((time, at) => time - (times[at] ?? 0));
      // 20, 40, 80, 160 ms, each up to a fifth shorter.
      for (const [at, waitMs] of waits.entries()) expect(waitMs).toBeGreaterThan(20 * 2 ** at * 0.8 - 2);
      await counts('reconcile_errors_total{controller="test"} 4');
    });

    it('does not try again where only a change can help', async () => {
      controller = describeController(() => Promise.reject(new TerminalError('no such plan'))).start();
      await put('one');
      await passed(1);
      await settled();
      expect(passes).toEqual(['one']);
      await put('one', 2);
      await passed(2);
      await counts('terminal_reconcile_errors_total{controller="test"} 3');
    });

    it('takes a refused write for such a case, and a conflict for none at all', async () => {
      controller = describeController(async (key) => {
        if (key.name === 'refused') {
          await informer.resources.apply({ metadata: key, spec: { size: 5_000 } }, { fieldManager: 'user' });
        } else if (passes.filter((name) => name === key.name).length === 1) {
          const widget = await informer.resources.get(key);
          await informer.resources.replace({ ...widget, metadata: { ...widget.metadata, resourceVersion: '1' } });
        }
        return {};
      }).start();
      await put('refused');
      await passed(1);
      await counts('reconcile_total{controller="test",result="terminal"} 1');
      await put('stale');
      await passed(3);
      expect(passes).toEqual(['refused', 'stale', 'stale']);
      await counts('reconcile_total{controller="test",result="conflict"} 1');
      await counts('reconcile_errors_total{controller="test"} 1');
    });
  });

  it('never works on one key twice at once, and on several keys at once', async () => {
    const running = new Map<string, number>();
    let [mostOfOne, most] = [0, 0];
    controller = describeController(
      async (key) => {
        running.set(key.name, (running.get(key.name) ?? 0) + 1);
        mostOfOne = Math.max(mostOfOne, running.get(key.name) ?? 0);
        most = Math.max(
          most,
          [...running.values()].reduce((sum, count) => sum + count, 0),
        );
        await new Promise((resolve) => setTimeout(resolve, 20));
        running.set(key.name, (running.get(key.name) ?? 0) - 1);
        return {};
      },
      { concurrency: 3 },
    ).start();
    const keys = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ namespace, name }));
    for (let round = 0; round < 20; round += 1) {
      for (const key of keys) controller.enqueue(key);
      await passed(round + 1);
    }
    expect(mostOfOne).toBe(1);
    expect(most).toBe(3);
  });

  it('aborts a pass at its deadline, and keeps a key whose pass does not care to itself', async () => {
    const signals: AbortSignal[] = [];
    controller = describeController(
      (key, signal) => {
        if (key.name !== 'stuck') return Promise.resolve({});
        signals.push(signal);
        return new Promise<never>(() => undefined);
      },
      { timeoutMs: 50, concurrency: 1 },
    ).start();
    await put('stuck');
    await passed(1);
    await put('stuck', 2);
    await put('free');
    await until(() => passes.includes('free'), { timeoutMs: 20_000, what: 'the worker goes on' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(passes).toEqual(['stuck', 'free']);
  });

  it('lets what runs end when it stops, within the grace it is given', async () => {
    let end: () => void = () => undefined;
    let wasAborted = false;
    controller = describeController(async (key, signal) => {
      signal.addEventListener('abort', () => {
        wasAborted = true;
        end();
      });
      await new Promise<void>((resolve) => (end = resolve));
      return {};
    }).start();
    await put('one');
    await passed(1);
    const stopped = controller.stop(60_000);
    await put('two');
    end();
    await stopped;
    expect(wasAborted).toBe(false);
    expect(passes).toEqual(['one']);

    passes = [];
    controller = describeController(async (key, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      wasAborted = true;
      return {};
    }).start();
    await passed(2);
    await controller.stop(10);
    expect(wasAborted).toBe(true);
  });

  it('can be stopped before its informers are full', async () => {
    const never = createInformer({ resources: informer.resources, log: testLog });
    await controllerFor({ name: 'never', informer: never, log: testLog, reconcile: nothing }).start().stop();
    expect(formatKey({ namespace: '', name: 'x' })).toBe('x');
  });
});
