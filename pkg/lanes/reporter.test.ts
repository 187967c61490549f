import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it } from '@jest/globals';
import { createReporterTurn } from './reporter.ts';

/** A pod whose captures the test begins and ends, and the row that it shares with the controller. */
function createPod() {
  const row = { busy: 0, drained: false, cordoned: false };
  const pod = { running: 0, taking: true, whenIdle: Promise.withResolvers<unknown>() };
  const report = createReporterTurn({
    report: (report) => {
      Object.assign(row, report);
      return Promise.resolve({ cordoned: row.cordoned });
    },
    running: () => pod.running,
    pause: () => {
      pod.taking = false;
      pod.whenIdle = Promise.withResolvers();
      if (pod.running === 0) pod.whenIdle.resolve(null);
      return pod.whenIdle.promise.then(() => undefined);
    },
    resume: () => {
      pod.taking = true;
      return Promise.resolve();
    },
    log: pino({ level: 'silent' }),
  });
  const turn = async (): Promise<void> => {
    await report();
    // What was resolved in the turn is told in the next round of the event loop.
    await setImmediate();
  };
  return { row, pod, turn };
}

describe('a pod of a lane', () => {
  it('says what it runs', async () => {
    const { row, pod, turn } = createPod();
    pod.running = 2;
    await turn();
    expect(row).toEqual({ busy: 2, drained: false, cordoned: false });
  });

  it('that is told to take no more stops taking, and is drained once it is idle', async () => {
    const { row, pod, turn } = createPod();
    pod.running = 1;
    row.cordoned = true;
    await turn();
    expect(pod.taking).toBe(false);
    await turn();
    expect(row).toMatchObject({ busy: 1, drained: false });
    pod.running = 0;
    pod.whenIdle.resolve(null);
    await setImmediate();
    await turn();
    expect(row).toMatchObject({ busy: 0, drained: true });
  });

  it('takes "drained" back before it takes captures again', async () => {
    const { row, pod, turn } = createPod();
    row.cordoned = true;
    await turn();
    await turn();
    expect(row.drained).toBe(true);
    row.cordoned = false;
    await turn();
    expect({ drained: row.drained, taking: pod.taking }).toEqual({ drained: true, taking: false });
    await turn();
    expect({ drained: row.drained, taking: pod.taking }).toEqual({ drained: false, taking: true });
  });

  it('stays drained when it is told again at the last moment', async () => {
    const { row, pod, turn } = createPod();
    row.cordoned = true;
    await turn();
    await turn();
    row.cordoned = false;
    await turn();
    row.cordoned = true;
    await turn();
    await turn();
    expect({ drained: row.drained, taking: pod.taking }).toEqual({ drained: true, taking: false });
  });

  it('goes on taking when it could not stop', async () => {
    const row = { cordoned: true };
    const turn = createReporterTurn({
      report: () => Promise.resolve(row),
      running: () => 0,
      pause: () => Promise.reject(new Error('Redis is away')),
      resume: () => Promise.resolve(),
      log: pino({ level: 'silent' }),
    });
    await turn();
    await setImmediate();
    expect(await turn()).toBe('idle');
  });
});
