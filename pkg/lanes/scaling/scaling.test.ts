import { describe, expect, it } from '@jest/globals';
import { planScaling, NO_MEMORY, type PodState, type ScalingInput, type ScalingMemory } from './index.ts';

const NOW_MS = 1_000_000_000;
const SCALING: ScalingInput['spec']['scaling'] = {
  minReplicas: 0,
  maxReplicas: 5,
  capturesPerPod: 2,
  activationQueue: 1,
  cooldownSeconds: 300,
  stabilizationSeconds: 60,
  pollSeconds: 5,
  fallback: { failureThreshold: 3, replicas: 2 },
};

type Given = Partial<Omit<ScalingInput, 'spec' | 'memory'>> & {
  scaling?: Partial<typeof SCALING>;
  spec?: Partial<ScalingInput['spec']>;
  memory?: Partial<ScalingMemory>;
};

const give = ({ scaling, spec, memory, ...rest }: Given): ScalingInput => ({
  demand: { waiting: 0, running: 0 },
  pods: [],
  current: 0,
  nowMs: NOW_MS,
  ...rest,
  memory: { ...NO_MEMORY, ...memory },
  spec: { suspend: false, ...spec, scaling: { ...SCALING, ...scaling } },
});
const pod = (name: string, more: Partial<PodState> = {}): PodState => ({
  name,
  ready: true,
  terminating: false,
  reports: true,
  busy: 0,
  drained: false,
  cordoned: false,
  ...more,
});
const drained = (name: string): PodState => pod(name, { cordoned: true, drained: true });
const agoMs = (seconds: number): number => NOW_MS - seconds * 1000;
/** So long ago that nothing is smoothed or waited for any more. */
const settled = (replicas: number): Partial<ScalingMemory> => ({
  lastActiveMs: agoMs(10_000),
  wanted: [{ atMs: agoMs(5), replicas }],
});

describe('the number of pods', () => {
  it.each<{ when: string; given: Given; replicas: number; reason: string }>([
    { when: 'nothing waits and there is none', given: {}, replicas: 0, reason: 'Idle' },
    {
      when: 'the first capture waits',
      given: { demand: { waiting: 1, running: 0 } },
      replicas: 1,
      reason: 'FollowsDemand',
    },
    {
      when: 'fewer wait than it takes to start one',
      given: { demand: { waiting: 3, running: 0 }, scaling: { activationQueue: 4 } },
      replicas: 0,
      reason: 'BelowActivation',
    },
    {
      when: 'just as many wait as it takes',
      given: { demand: { waiting: 4, running: 0 }, scaling: { activationQueue: 4 } },
      replicas: 2,
      reason: 'FollowsDemand',
    },
    {
      when: 'few wait, but there is a pod already',
      given: { demand: { waiting: 1, running: 0 }, current: 1, scaling: { activationQueue: 4 } },
      replicas: 1,
      reason: 'FollowsDemand',
    },
    {
      when: 'one runs and fewer wait than it takes',
      given: { demand: { waiting: 1, running: 1 }, scaling: { activationQueue: 4 } },
      replicas: 1,
      reason: 'FollowsDemand',
    },
    {
      when: 'what runs needs pods as what waits does',
      given: { demand: { waiting: 3, running: 4 }, current: 2 },
      replicas: 4,
      reason: 'FollowsDemand',
    },
    {
      when: 'a part of a pod is needed',
      given: { demand: { waiting: 5, running: 0 } },
      replicas: 3,
      reason: 'FollowsDemand',
    },
    {
      when: 'more is asked for than there may be',
      given: { demand: { waiting: 100, running: 0 } },
      replicas: 5,
      reason: 'AtMaximum',
    },
    {
      when: 'there is a least number',
      given: { scaling: { minReplicas: 2 } },
      replicas: 2,
      reason: 'Idle',
    },
    {
      when: 'the least number exceeds the demand',
      given: { demand: { waiting: 1, running: 0 }, scaling: { minReplicas: 2 } },
      replicas: 2,
      reason: 'FollowsDemand',
    },
    {
      when: 'a person fixed it',
      given: { demand: { waiting: 100, running: 0 }, spec: { replicas: 7 } },
      replicas: 7,
      reason: 'FixedReplicas',
    },
    {
      when: 'the lane is suspended, whatever waits',
      given: { demand: { waiting: 100, running: 0 }, spec: { suspend: true, replicas: 7 } },
      replicas: 0,
      reason: 'Suspended',
    },
  ])('is $replicas ($reason) when $when', ({ given, replicas, reason }) => {
    expect(planScaling(give(given))).toMatchObject({ replicas, choice: { reason } });
  });
});

describe('an error is not zero', () => {
  it.each([
    { failures: 0, current: 4, replicas: 4, reason: 'DemandUnknown' },
    { failures: 1, current: 0, replicas: 0, reason: 'DemandUnknown' },
    { failures: 2, current: 0, replicas: 2, reason: 'Fallback' },
    { failures: 2, current: 4, replicas: 4, reason: 'Fallback' },
    { failures: 99, current: 1, replicas: 2, reason: 'Fallback' },
  ])('after $failures failures with $current pods there are $replicas', ({ failures, current, replicas, reason }) => {
    const plan = planScaling(give({ demand: null, current, memory: { failures } }));
    expect(plan).toMatchObject({ replicas, choice: { reason, memory: { failures: failures + 1 } } });
  });

  it('and the first look that succeeds ends it', () => {
    const plan = planScaling(give({ current: 2, memory: { ...settled(1), failures: 9 } }));
    expect(plan.choice.memory.failures).toBe(0);
    expect(plan.choice.reason).toBe('Stabilizing');
  });

  it('and the fallback never exceeds the greatest number', () => {
    const plan = planScaling(give({ demand: null, memory: { failures: 2 }, scaling: { maxReplicas: 1 } }));
    expect(plan.replicas).toBe(1);
  });

  it('and takes no pod, as nobody knows which are busy', () => {
    const pods = [drained('a'), drained('b')];
    const plan = planScaling(give({ demand: null, current: 2, pods, spec: { suspend: true } }));
    expect(plan).toMatchObject({ replicas: 2, leaving: [], cordon: [] });
  });
});

describe('on the way down', () => {
  it('the last pod stays until the cooldown has passed', () => {
    const pods = [pod('a')];
    const within = planScaling(give({ current: 1, pods, memory: { ...settled(1), lastActiveMs: agoMs(299) } }));
    expect(within).toMatchObject({ replicas: 1, cordon: [], choice: { reason: 'CoolingDown' } });
    const after = planScaling(
      give({ current: 1, pods, memory: { wanted: settled(0).wanted ?? [], lastActiveMs: agoMs(300) } }),
    );
    expect(after).toMatchObject({ replicas: 1, cordon: ['a'], choice: { reason: 'Idle', replicas: 0 } });
  });

  it('all but the last need not wait for the cooldown', () => {
    const pods = [drained('a'), drained('b'), drained('c')];
    const plan = planScaling(
      give({ current: 3, pods, memory: { lastActiveMs: agoMs(100), wanted: [{ atMs: agoMs(60), replicas: 3 }] } }),
    );
    expect(plan).toMatchObject({ replicas: 1, leaving: ['a', 'b'], choice: { reason: 'CoolingDown' } });
  });

  it('it is the most that was wanted within the window', () => {
    const wanted = [
      { atMs: agoMs(70), replicas: 5 },
      { atMs: agoMs(59), replicas: 3 },
    ];
    const plan = planScaling(give({ current: 5, demand: { waiting: 0, running: 1 }, memory: { wanted } }));
    expect(plan.choice).toMatchObject({ replicas: 3, reason: 'Stabilizing' });
  });

  it('a controller that has just started waits a whole window', () => {
    const first = planScaling(give({ current: 4, demand: { waiting: 1, running: 0 } }));
    expect(first.choice).toMatchObject({ replicas: 4, reason: 'Stabilizing' });
    const later = planScaling(
      give({ current: 4, demand: { waiting: 1, running: 0 }, memory: first.choice.memory, nowMs: NOW_MS + 60_000 }),
    );
    expect(later.choice).toMatchObject({ replicas: 1, reason: 'FollowsDemand' });
  });

  it('no pod that is busy goes, whoever asks', () => {
    const pods = [pod('a', { busy: 1 }), pod('b', { busy: 2 }), drained('c')];
    for (const spec of [{ suspend: true }, { replicas: 0 }]) {
      const plan = planScaling(give({ current: 3, pods, spec, demand: { waiting: 0, running: 3 } }));
      expect(plan).toMatchObject({ replicas: 2, leaving: ['c'], cordon: ['c'], choice: { reason: 'BusyPods' } });
    }
  });

  it.each<{ what: string; pods: PodState[]; cordon: string[]; leaving: string[] }>([
    { what: 'an idle pod is first told to take no more', pods: [pod('a'), pod('b')], cordon: ['a'], leaving: [] },
    {
      what: 'a pod that was told but has not answered stays',
      pods: [pod('a'), pod('b', { cordoned: true })],
      cordon: ['b'],
      leaving: [],
    },
    { what: 'a pod that has answered goes', pods: [pod('a'), drained('b')], cordon: ['b'], leaving: ['b'] },
    {
      what: 'a pod that never came up goes first',
      pods: [drained('a'), pod('b', { ready: false, reports: false })],
      cordon: ['b'],
      leaving: ['b'],
    },
    {
      what: 'a pod that has become busy since it was told stays',
      pods: [pod('a', { cordoned: true, busy: 1 }), pod('b')],
      cordon: ['b'],
      leaving: [],
    },
    {
      what: 'a ready pod of which nobody knows what it does stays',
      pods: [pod('a', { reports: false })],
      cordon: [],
      leaving: [],
    },
    {
      what: 'nobody goes while a busy pod is not ready, as the cluster would take that one',
      pods: [drained('a'), pod('b', { ready: false, busy: 1 })],
      cordon: [],
      leaving: [],
    },
    {
      what: 'a pod that terminates is none',
      pods: [pod('a', { terminating: true, busy: 0 }), drained('b')],
      cordon: ['b'],
      leaving: ['b'],
    },
  ])('$what', ({ pods, cordon, leaving }) => {
    const plan = planScaling(
      give({ current: 2, pods, demand: { waiting: 0, running: 1 }, memory: settled(1), scaling: { minReplicas: 1 } }),
    );
    expect(plan).toMatchObject({ cordon, leaving, replicas: 2 - leaving.length });
  });

  it('pods that were to go work again when they are needed', () => {
    const pods = [drained('a'), pod('b', { busy: 2 })];
    const plan = planScaling(give({ current: 2, pods, demand: { waiting: 2, running: 2 }, memory: settled(1) }));
    expect(plan).toMatchObject({ replicas: 2, cordon: [], uncordon: ['a'], leaving: [] });
  });
});

describe('what is remembered', () => {
  it('is the last moment that anything waited or ran', () => {
    expect(planScaling(give({ demand: { waiting: 0, running: 1 } })).choice.memory.lastActiveMs).toBe(NOW_MS);
    expect(planScaling(give({ memory: { lastActiveMs: 5 } })).choice.memory.lastActiveMs).toBe(5);
    const busy = planScaling(give({ pods: [pod('a', { busy: 1 })], current: 1, memory: { lastActiveMs: 5 } }));
    expect(busy.choice.memory.lastActiveMs).toBe(NOW_MS);
  });

  it('stays short however long the demand goes up and down', () => {
    let memory: ScalingMemory = NO_MEMORY;
    for (let step = 0; step < 1_000; step += 1) {
      const demand = { waiting: (step * 7) % 10, running: 0 };
      const input = give({ demand, current: 3, nowMs: NOW_MS + step * 1000 });
      memory = planScaling({ ...input, memory }).choice.memory;
    }
    expect(memory.wanted.length).toBeLessThanOrEqual(SCALING.maxReplicas + 1);
  });
});
