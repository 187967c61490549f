import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  controllerFor,
  createApplier,
  createInformer,
  keepManagedFieldsOf,
  resourceClient,
  type Connection,
} from '../../pkg/operator/kube/index.ts';
import {
  connectToKube,
  createNamespace,
  describeOnKube,
  installWidgets,
  testLog,
  widgets,
} from '../support/kube/cluster.ts';
import { until } from '../support/poll.ts';

const ROUNDS = 8;
const WARM_ROUNDS = 4;
const OBJECTS = 100;
const ALLOWED_BYTES = 1_500_000;

describeOnKube('the memory of a controller', () => {
  let connection: Connection;
  beforeAll(async () => {
    connection = connectToKube();
    await installWidgets(connection);
  });
  afterAll(() => connection.close());

  it('stays flat while objects come and go', async () => {
    const resources = resourceClient(connection, widgets);
    const namespace = await createNamespace(connection);
    const applier = createApplier('churn');
    const informer = createInformer({
      resources,
      scope: { namespace },
      indexes: { size: ({ spec }) => [String(spec?.size)] },
      transform: keepManagedFieldsOf('churn'),
      log: testLog,
    });
    informer.start();
    const controller = controllerFor({
      name: 'churn',
      informer,
      concurrency: 8,
      log: testLog,
      reconcile: async (key, signal) => {
        const widget = informer.get(key);
        if (widget === undefined) return {};
        const desired = { metadata: key, status: { size: widget.spec?.size ?? 0 } };
        await applier.ensureStatus(resources, widget, desired, { signal });
        return { requeueAfterMs: 100 };
      },
    }).start();
    const collectGarbage = exposeGarbageCollector();
    const names = Array.from({ length: OBJECTS }, (_, at) => `widget-${at}`);
    const used: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const suffixed = names.map((name) => ({ namespace, name: `${name}-${round}` }));
      await Promise.all(
        suffixed.map((key) => resources.create({ metadata: key, spec: { size: round, colours: ['x'.repeat(1_000)] } })),
      );
      await until(() => informer.list().filter(({ status }) => status?.size === round).length === OBJECTS, {
        timeoutMs: 60_000,
        what: 'every status is written',
      });
      await Promise.all(suffixed.map((key) => resources.delete(key)));
      await until(() => informer.list().length === 0, { timeoutMs: 60_000, what: 'every object is gone' });
      collectGarbage();
      used.push(process.memoryUsage().heapUsed);
    }
    await controller.stop(0);
    await informer.stop();
    const [warm, late] = [Math.min(...used.slice(0, WARM_ROUNDS)), Math.min(...used.slice(WARM_ROUNDS))];
    expect(late - warm).toBeLessThan(ALLOWED_BYTES);
  }, 240_000);
});

function exposeGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('the garbage collector is not exposed');
  return () => void Reflect.apply(collect, undefined, []);
}
