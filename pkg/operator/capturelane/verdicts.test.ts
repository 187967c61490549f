import { describe, expect, it } from '@jest/globals';
import { judgeLane, type LaneFacts } from './verdicts.ts';

const WORKING: LaneFacts = {
  suspended: false,
  takenBy: null,
  surface: 'assistant_one',
  problem: null,
  hasPods: true,
  minReplicas: 0,
  desired: 1,
  replicas: 1,
  ready: 1,
  failure: null,
  rollout: 'done',
  rolloutStuck: false,
  scaling: 'FollowsDemand',
  databaseProblem: null,
  notes: [],
};
const judge = (facts: Partial<LaneFacts>) =>
  Object.fromEntries(
    judgeLane({ ...WORKING, ...facts }).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );

describe('the conditions of a lane', () => {
  it.each<[string, Partial<LaneFacts>, Record<string, string>]>([
    [
      'that works',
      {},
      {
        Ready: 'True PodsReady',
        Progressing: 'False UpToDate',
        Degraded: 'False AsExpected',
        ScalingActive: 'True FollowsDemand',
        Attention: 'False NothingReported',
      },
    ],
    [
      'that has nothing to do',
      { desired: 0, replicas: 0, ready: 0 },
      { Ready: 'True Idle', Progressing: 'False UpToDate' },
    ],
    ['that wakes up', { ready: 0 }, { Ready: 'True PodsStarting', Progressing: 'True ScalingUp' }],
    ['that must have pods and has none', { ready: 0, minReplicas: 1 }, { Ready: 'False PodsStarting' }],
    ['whose pods fail', { ready: 0, failure: 'why' }, { Ready: 'False PodsFailing', Degraded: 'True PodsFailing' }],
    ['of which some pods fail', { failure: 'why' }, { Ready: 'True PodsReady', Degraded: 'True PodsFailing' }],
    [
      'that is suspended',
      { suspended: true, scaling: 'Suspended' },
      { Ready: 'False Suspended', ScalingActive: 'False Suspended' },
    ],
    [
      'that another holds back',
      { takenBy: 'a/b', suspended: true },
      { Ready: 'False SurfaceTaken', Progressing: 'False NotServing' },
    ],
    [
      'with a faulty profile',
      { problem: { reason: 'InvalidProfile', message: 'x' } },
      { Ready: 'False InvalidProfile', Progressing: 'False NotServing' },
    ],
    [
      'while Postgres is away',
      { databaseProblem: 'refused', scaling: 'DemandUnknown' },
      {
        Ready: 'Unknown DatabaseUnreachable',
        Degraded: 'True DatabaseUnreachable',
        ScalingActive: 'False DemandUnknown',
      },
    ],
    [
      'that is rolled over',
      { rollout: 'underWay', replicas: 2 },
      { Ready: 'True PodsReady', Progressing: 'True RollingOut' },
    ],
    [
      'whose roll-over is stuck',
      { rolloutStuck: true },
      { Progressing: 'False RolloutStuck', Degraded: 'True RolloutStuck' },
    ],
    ['that shrinks', { replicas: 2 }, { Progressing: 'True ScalingDown' }],
    ['that has nothing yet', { scaling: null, hasPods: false }, { ScalingActive: 'False NotServing' }],
    [
      'whose pods have something to say',
      { notes: ['No sandbox.'] },
      { Ready: 'True PodsReady', Attention: 'True PodsReport' },
    ],
  ])('%s', (_, facts, expected) => {
    expect(judge(facts)).toMatchObject(expected);
  });

  it('each say something in whole sentences', () => {
    for (const facts of [WORKING, { ...WORKING, suspended: true }, { ...WORKING, takenBy: 'a/b' }]) {
      for (const { message } of judgeLane(facts)) expect(message).toMatch(/^[A-Zas].*\.$/);
    }
  });

  it('say the same as long as nothing changes but the demand', () => {
    const [one, two] = [3, 4].map((desired) => judgeLane({ ...WORKING, desired, replicas: desired, ready: desired }));
    expect(one).toEqual(two);
  });
});
