import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { connect, core, loadKubeConfig, resourceClient, type Connection } from '../../pkg/operator/kube/index.ts';
import { pause } from '../../pkg/runtime/index.ts';
import { readVariable } from '../support/environment.ts';
import { createNamespace, describeOnKube } from '../support/kube/cluster.ts';
import { startKube, type KubeServer } from '../support/kube/server.ts';
import { until } from '../support/poll.ts';
import { TIMING } from './election/candidate.ts';
import { openContest, type Candidate, type Contest } from './election/contest.ts';

// An API server of its own, because it is frozen.
describeOnKube('leader election', () => {
  let server: KubeServer;
  let connection: Connection;
  let dir = '';
  let namespace = '';
  let contest: Contest;
  let candidates: Candidate[] = [];

  beforeAll(async () => {
    server = await startKube(readVariable('TEST_KUBE_PROGRAMS'));
    connection = connect({ kubeConfig: loadKubeConfig(server.kubeConfigFile), userAgent: 'test' });
    dir = await mkdtemp(join(tmpdir(), 'election-'));
  });
  afterAll(async () => {
    await connection.close();
    await server.close();
    await rm(dir, { recursive: true });
  });
  beforeEach(async () => {
    namespace = await createNamespace(connection);
    contest = openContest(server, { namespace, dir });
    candidates = [];
  });
  afterEach(async () => {
    for (const candidate of candidates) await candidate.close();
  });

  async function enter(name: string, where = contest): Promise<Candidate> {
    const candidate = await where.enter(name);
    candidates.push(candidate);
    return candidate;
  }
  /** Two at once: most of the time of a candidate is its start. */
  const enterBoth = (where = contest): Promise<[Candidate, Candidate]> =>
    Promise.all([enter('first', where), enter('second', where)]);
  const leads = (candidate: Candidate, sinceMs = Date.now()): Promise<true> =>
    until(() => candidate.hasLed(sinceMs), { timeoutMs: 30_000, what: `${candidate.name} leads` });
  const says = (candidate: Candidate, what: string): Promise<true> =>
    until(() => candidate.state() === what, { timeoutMs: 30_000, what: `${candidate.name} says ${what}` });
  const whoLeads = async ([first, second]: [Candidate, Candidate]): Promise<[Candidate, Candidate]> => {
    await until(() => first.hasLed(0) || second.hasLed(0), { timeoutMs: 30_000, what: 'one leads' });
    return first.hasLed(0) ? [first, second] : [second, first];
  };

  it('has one leader, who gives the lease back when it stops, so that the next leads at once', async () => {
    const first = await enter('first');
    await leads(first);
    const second = await enter('second');
    const lease = await resourceClient(connection, core.leases).get({ namespace, name: 'lease' });
    expect(lease.spec).toMatchObject({
      holderIdentity: 'first',
      leaseDurationSeconds: TIMING.leaseMs / 1000,
      leaseTransitions: 1,
    });
    expect(second.hasLed(0)).toBe(false);
    const askedMs = Date.now();
    await first.stop();
    expect(first.state()).toBe('stopped');
    await leads(second, askedMs);
    expect(contest.overlaps()).toEqual([]);
  });

  it('passes on from a leader that is frozen, and that one does not lead a moment longer when it thaws', async () => {
    const [leader, other] = await whoLeads(await enterBoth());
    leader.freeze();
    await leads(other);
    leader.thaw();
    await says(leader, 'lost');
    await leads(other);
    expect(contest.terms()).toBe(2);
    expect(contest.overlaps()).toEqual([]);
  });

  it('has never two leaders where the network of one stalls, is slow, or is refused', async () => {
    const ways = {
      'it stalls': (one: Candidate) => one.proxy.stall(),
      'each answer takes longer than its renewal may': (one: Candidate) => one.proxy.delay(TIMING.renewMs * 0.75),
      'its connections are refused': (one: Candidate) => {
        one.proxy.refuse(true);
        one.proxy.cut();
      },
    };
    const tryWay = async ([what, breakIt]: [string, (one: Candidate) => void]): Promise<void> => {
      const own = openContest(server, {
        namespace: await createNamespace(connection),
        dir: await mkdtemp(join(dir, 'way-')),
      });
      const both = await enterBoth(own);
      const [leader] = await whoLeads(both);
      breakIt(leader);
      const brokenMs = Date.now();
      // That one where it found a way round in time, otherwise the other.
      await until(() => both.some((one) => one.hasLed(brokenMs + 2 * TIMING.leaseMs)), {
        timeoutMs: 30_000,
        what: `one of them leads where ${what}`,
      });
      expect({ what, overlaps: own.overlaps() }).toEqual({ what, overlaps: [] });
    };
    await Promise.all(Object.entries(ways).map(tryWay));
  });

  it('steps down while the API server hangs, and elects one when it is back', async () => {
    const [leader, other] = await whoLeads(await enterBoth());
    server.freeze();
    try {
      await says(leader, 'lost');
    } finally {
      server.thaw();
    }
    await leads(other);
    expect(contest.overlaps()).toEqual([]);
  });

  it('has never two leaders, whatever is frozen, slow or cut, in whatever order', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `candidate-${at}`);
    const enterNext = (): Promise<Candidate> => enter(names.shift() ?? '');
    let standing: Candidate[] = await Promise.all([enterNext(), enterNext()]);
    const untilMs = Date.now() + 8 * TIMING.leaseMs;
    while (Date.now() < untilMs) {
      for (const candidate of standing) {
        candidate.thaw();
        candidate.proxy.delay(0);
        candidate.proxy.refuse(false);
        const draw = Math.random();
        if (draw < 0.3) candidate.freeze();
        else if (draw < 0.5) candidate.proxy.delay(Math.random() * 1.25 * TIMING.renewMs);
        else if (draw < 0.7) candidate.proxy.cut();
        else if (draw < 0.85) candidate.proxy.stall();
      }
      await pause(Math.random() * 1.7 * TIMING.leaseMs);
      const over = standing.filter((candidate) => candidate.state() !== 'stands');
      standing = standing.filter((candidate) => candidate.state() === 'stands');
      standing.push(...(await Promise.all(over.map(enterNext))));
    }
    expect(contest.terms()).toBeGreaterThan(1);
    expect(contest.overlaps()).toEqual([]);
  }, 120_000);
});
