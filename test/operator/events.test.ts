import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  core,
  createEventRecorder,
  resourceClient,
  type Connection,
  type EventNote,
  type EventObject,
  type EventRecorder,
} from '../../pkg/operator/kube/index.ts';
import { holdTimers, type HeldTimers } from '../../pkg/operator/kube/timers-for-tests.ts';
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

describeOnKube('an event recorder', () => {
  let connection: Connection;
  let recorder: EventRecorder;
  let timers: HeldTimers;
  let regarding: Widget;
  beforeAll(async () => {
    connection = connectToKube();
    await installWidgets(connection);
  });
  afterAll(() => connection.close());
  beforeEach(async () => {
    const namespace = await createNamespace(connection);
    regarding = await resourceClient(connection, widgets).create({ metadata: { namespace, name: 'one' } });
    timers = holdTimers();
    recorder = createEventRecorder({
      connection,
      reportingController: 'example.com/test',
      reportingInstance: 'pod-1',
      log: testLog,
      timers,
    });
  });

  const note = (words: string): EventNote => ({
    regarding,
    type: 'Warning',
    reason: 'Broken',
    action: 'Repair',
    note: words,
  });
  const list = async (): Promise<readonly EventObject[]> =>
    (await resourceClient(connection, core.events).list({ namespace: regarding.metadata.namespace ?? '' })).items;

  it('writes what kubectl describe shows', async () => {
    recorder.record(note('It broke. Mend it.'));
    await recorder.stop();
    expect(await list()).toMatchObject([
      {
        type: 'Warning',
        reason: 'Broken',
        action: 'Repair',
        note: 'It broke. Mend it.',
        reportingController: 'example.com/test',
        reportingInstance: 'pod-1',
        regarding: { kind: 'Widget', apiVersion: 'test.example.com/v1', name: 'one', uid: regarding.metadata.uid },
      },
    ]);
  });

  it('makes one series of the same note, and writes its count once a minute', async () => {
    for (let count = 0; count < 50; count += 1) recorder.record(note('Again'));
    await until(async () => (await list()).length === 1, { timeoutMs: 20_000, what: 'the event' });
    expect((await list())[0]?.series).toBeUndefined();
    timers.advance(60_000);
    await until(async () => (await list())[0]?.series?.count === 50, { timeoutMs: 20_000, what: 'its count' });
    recorder.record(note('Again'));
    await recorder.stop();
    expect(await list()).toMatchObject([{ series: { count: 51 } }]);
  });

  it('begins a new event when the old one is long over', async () => {
    recorder.record(note('Again'));
    timers.advance(8 * 60_000);
    recorder.record(note('Again'));
    await recorder.stop();
    expect(await list()).toHaveLength(2);
  });

  it('drops what comes too fast from one object, and lets it speak again later', async () => {
    for (let count = 0; count < 40; count += 1) recorder.record(note(`Trouble ${count}`));
    await until(async () => (await list()).length === 25, { timeoutMs: 20_000, what: 'the first ones' });
    timers.advance(20_000);
    recorder.record(note('And again'));
    await recorder.stop();
    expect(await list()).toHaveLength(26);
  });

  it('paces what comes from many objects at once, and hurries at its end', async () => {
    const many = Array.from({ length: 130 }, (_, at) => ({ ...regarding.metadata, uid: `uid-${at}` }));
    for (const metadata of many) recorder.record({ ...note('New'), regarding: { ...regarding, metadata } });
    await until(async () => (await list()).length === 100, { timeoutMs: 20_000, what: 'the burst' });
    timers.advance(200);
    await until(async () => (await list()).length === 101, { timeoutMs: 20_000, what: 'one more' });
    await recorder.stop();
    expect(await list()).toHaveLength(130);
  });

  it('cuts a note that is too long, and writes nothing after its stop', async () => {
    recorder.record(note('ü'.repeat(5_000)));
    await recorder.stop();
    recorder.record(note('too late'));
    expect((await list()).map((event) => event.note)).toEqual([`${'ü'.repeat(510)}…`]);
  });
});
