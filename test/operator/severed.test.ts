import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readVariable } from '../support/environment.ts';
import { describeOnKube } from '../support/kube/cluster.ts';
import { startKube, type KubeServer } from '../support/kube/server.ts';
import { sever } from './severing/sever.ts';

describeOnKube('a controller on a network that breaks at random', () => {
  let server: KubeServer;
  beforeAll(async () => {
    server = await startKube(readVariable('TEST_KUBE_PROGRAMS'));
  });
  afterAll(() => server.close());

  it('acts on the last change of every key, and does not storm the API server', async () => {
    const report = await sever(server, { durationMs: 20_000, keys: 60, seed: 7 });
    expect(report.lost).toEqual([]);
    expect(report.breaks).toBeGreaterThan(5);
    expect(report.writes).toBeGreaterThan(20);
    // One watch: its attempts are never less than 50 ms apart, and 100, 200… when they keep failing.
    expect(report.reads / (report.durationMs / 1_000)).toBeLessThan(10);
    // Each change wakes its key once; a failed pass comes again a few times.
    expect(report.passes).toBeLessThan(report.writes * 5);
  }, 180_000);

  it('and before an API server that stops and starts again, loses nothing either', async () => {
    const report = await sever(server, { durationMs: 25_000, keys: 60, seed: 11, serverBreakMs: 6_000 });
    expect(report.lost).toEqual([]);
    expect(report.serverBreaks).toBeGreaterThan(1);
    expect(report.reads / (report.durationMs / 1_000)).toBeLessThan(10);
  }, 300_000);
});
