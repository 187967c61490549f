import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cordonPods, readLanes, reportPod } from '../../pkg/lanes/index.ts';
import { core, resourceClient, type Deployment, type Key } from '../../pkg/operator/kube/index.ts';
import { captureLanes, type CaptureLaneObject } from '../../pkg/operator/resources/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { openAccount } from '../support/accounts.ts';
import { describeOnKube } from '../support/kube/cluster.ts';
import { applyAsUser, openTestOperator, waitForReason, type TestOperator } from '../support/kube/operator.ts';
import { createPods } from '../support/kube/pods.ts';
import { until } from '../support/poll.ts';

const WAIT = { timeoutMs: 30_000 };
const PROFILE = {
  go: { url: 'https://engine.example/?q={query}' },
  ask: [],
  finished: { quietMs: 100 },
  read: { answer: 'p' },
};
const FAST = { pollSeconds: 1, cooldownSeconds: 0, stabilizationSeconds: 0 };

describeOnKube('the controller of CaptureLanes', () => {
  let world: TestOperator;
  let pods: ReturnType<typeof createPods>;
  beforeAll(async () => {
    world = await openTestOperator();
    pods = createPods(world.connection);
    await world.start();
  });
  afterAll(() => world.close());

  const keyOf = (name: string): Key => ({ namespace: world.namespace, name });
  const childOf = (name: string): Key => keyOf(`lane-${name}`);
  const lanes = () => resourceClient(world.connection, captureLanes);
  const deployments = () => resourceClient(world.connection, core.deployments);
  const sql = () => world.database.db.system;

  async function applyLane(name: string, spec: object): Promise<CaptureLaneObject> {
    return applyAsUser(world.connection, captureLanes, {
      metadata: { name, namespace: world.namespace },
      spec: { driver: 'browser', scaling: FAST, ...('profileRef' in spec ? {} : { profile: PROFILE }), ...spec },
    });
  }
  const deploymentOf = (name: string): Promise<Deployment> =>
    until(() => deployments().find(childOf(name)), { ...WAIT, what: `the Deployment of ${name}` });
  const waitForReplicas = (name: string, replicas: number): Promise<Deployment> =>
    until(
      async () => {
        const found = await deployments().find(childOf(name));
        return found?.spec?.replicas === replicas && found;
      },
      { ...WAIT, what: `${name} has ${replicas} replicas` },
    );
  const waitFor = (name: string, type: string, reason: string) =>
    waitForReason(world.connection, captureLanes, keyOf(name), type, reason);
  const remove = async (name: string): Promise<void> => {
    await lanes().delete(keyOf(name));
    // Nothing collects garbage here: what the lane owned would be taken for that of its successor.
    await deployments().delete(childOf(name));
  };

  async function queueCaptures(surface: string, count: number): Promise<void> {
    const accountId = await openAccount(world.database.db);
    const id = `job_${surface}_${accountId}`;
    await query(
      sql(),
      `INSERT INTO searches (id, account_id, query, method, surfaces, child_count, credits_to_charge)
       VALUES (:id, :accountId, 'x', 'async', :surfaces, :count, 0)`,
      { id, accountId, surfaces: [surface], count },
    );
    await query(
      sql(),
      `INSERT INTO captures (id, search_id, account_id, position, surface, region_key, synchronous, announce_at, expires_at, price, credits_held)
       SELECT :id || '.' || n, :id, :accountId, n, :surface, 'GLOBAL', false, now(), now() + interval '1 hour', 0, 0
       FROM generate_series(1, CAST(:count AS int)) AS n`,
      { id, accountId, surface, count },
    );
  }
  const endCaptures = (surface: string) =>
    query(
      sql(),
      `UPDATE captures SET state = 'canceled', ended_at = now(), announce_at = NULL, lease_until = NULL WHERE surface = :surface`,
      { surface },
    );

  it('makes all that a lane needs, and publishes it; nothing runs before it is needed', async () => {
    await applyLane('whole', { surface: 'assistant_one' });
    expect(await waitFor('whole', 'Ready', 'Idle')).toMatchObject({
      status: 'True',
      message: 'No pod runs, as nothing waits. The first capture that waits starts one.',
    });
    const deployment = await deploymentOf('whole');
    expect(deployment.spec?.replicas).toBe(0);
    const pod = deployment.spec?.template.spec;
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      serviceAccountName: 'lane-whole',
      terminationGracePeriodSeconds: 150,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(pod?.containers[0]).toMatchObject({
      image: 'lane:test',
      envFrom: [{ secretRef: { name: 'lane-env' } }],
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    });
    const { connection } = world;
    const configMap = await resourceClient(connection, core.configMaps).get(childOf('whole'));
    expect(configMap.data?.['lane.yaml']).toContain('https://engine.example/?q={query}');
    expect(await resourceClient(connection, core.serviceAccounts).get(childOf('whole'))).toMatchObject({
      automountServiceAccountToken: false,
    });
    expect(await resourceClient(connection, core.podDisruptionBudgets).get(childOf('whole'))).toMatchObject({
      spec: { maxUnavailable: 1 },
    });
    const policy = await resourceClient(connection, core.networkPolicies).get(childOf('whole'));
    expect(policy.spec?.egress?.at(-1)?.ports).toEqual([80, 443].map((port) => ({ protocol: 'TCP', port })));
    expect((await readLanes(sql())).get('assistant_one')).toMatchObject({
      name: 'whole',
      live: true,
      unavailableReason: null,
    });
  });

  it('starts the first pod when the first capture waits, and takes the last when nothing does', async () => {
    await queueCaptures('assistant_one', 1);
    const deployment = await waitForReplicas('whole', 1);
    expect(ownersOfReplicas(deployment)).toEqual(['search-capture-scaler']);
    expect(await waitFor('whole', 'ScalingActive', 'FollowsDemand')).toMatchObject({ status: 'True' });
    await pods.add(deployment, 'whole-1');
    await pods.rolledOut(world.namespace, 'lane-whole', 1);
    expect(await waitFor('whole', 'Ready', 'PodsReady')).toMatchObject({ status: 'True' });
    const pod = `${world.namespace}/whole-1`;
    const report = (busy: number, drained: boolean) =>
      reportPod(sql(), { pod, surface: 'assistant_one', busy, drained });
    await report(1, false);
    await endCaptures('assistant_one');
    await waitFor('whole', 'ScalingActive', 'BusyPods');
    expect((await deploymentOf('whole')).spec?.replicas).toBe(1);
    await until(async () => (await report(0, false)).cordoned, { ...WAIT, what: 'the idle pod is cordoned' });
    expect((await deploymentOf('whole')).spec?.replicas).toBe(1);
    await report(0, true);
    await waitForReplicas('whole', 0);
    const { metadata } = await resourceClient(world.connection, core.pods).get(keyOf('whole-1'));
    expect(metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost']).toBe('-100');
    await pods.remove(world.namespace, 'whole-1');
    await pods.rolledOut(world.namespace, 'lane-whole', 0);
    await waitFor('whole', 'Ready', 'Idle');
  });

  it('writes nothing while nothing changes', async () => {
    await waitFor('whole', 'Progressing', 'UpToDate');
    const versions = async () =>
      Promise.all([lanes().get(keyOf('whole')), deployments().get(childOf('whole'))]).then((objects) =>
        objects.map(({ metadata }) => metadata.resourceVersion),
      );
    const before = await versions();
    const passes = await countPasses();
    await until(async () => (await countPasses()) >= passes + 5, { ...WAIT, what: 'five more passes' });
    expect(await versions()).toEqual(before);
  });

  async function countPasses(): Promise<number> {
    const metric = await world.registry.getSingleMetric('controller_runtime_reconcile_total')?.get();
    return metric?.values.reduce((sum, { value }) => sum + value, 0) ?? 0;
  }

  it('puts back what others change, but leaves the number of pods to the scaler', async () => {
    const body = { spec: { template: { spec: { automountServiceAccountToken: true } } } };
    await deployments().patch(childOf('whole'), { type: 'merge', body }, { fieldManager: 'a-person' });
    await until(
      async () =>
        (await deployments().get(childOf('whole'))).spec?.template.spec?.automountServiceAccountToken === false,
      { ...WAIT, what: 'the change is undone' },
    );
    await resourceClient(world.connection, core.configMaps).delete(childOf('whole'));
    await until(() => resourceClient(world.connection, core.configMaps).find(childOf('whole')), {
      ...WAIT,
      what: 'the ConfigMap is back',
    });
    const deployment = await deployments().get(childOf('whole'));
    expect(deployment.spec?.replicas).toBe(0);
    expect(ownersOfReplicas(deployment)).toEqual(['search-capture-scaler']);
  });

  it('holds a second lane of a surface back, and lets it take over when the first goes', async () => {
    await applyLane('second', { surface: 'assistant_one' });
    expect(await waitFor('second', 'Ready', 'SurfaceTaken')).toMatchObject({
      status: 'False',
      message: expect.stringContaining(`served by the CaptureLane ${world.namespace}/whole`),
    });
    expect(await deployments().find(childOf('second'))).toBeUndefined();
    await lanes().patch(keyOf('whole'), { type: 'merge', body: { spec: { suspend: true } } });
    await waitFor('second', 'Ready', 'Idle');
    await waitFor('whole', 'Ready', 'SurfaceTaken');
    expect((await readLanes(sql())).get('assistant_one')).toMatchObject({ name: 'second', live: true });
    await remove('second');
    await waitFor('whole', 'Ready', 'Suspended');
    expect((await readLanes(sql())).get('assistant_one')).toMatchObject({ name: 'whole', live: false });
    await remove('whole');
    await until(async () => !(await readLanes(sql())).has('assistant_one'), { ...WAIT, what: 'the surface is gone' });
  });

  it('says what is wrong with a profile, and goes on with the last good one', async () => {
    const { connection, namespace } = world;
    const bad = { ...PROFILE, ask: [{ sing: 'a' }] };
    await applyLane('profiles', { surface: 'assistant_three', profile: bad });
    expect((await waitFor('profiles', 'Ready', 'InvalidProfile')).message).toContain(
      'spec.profile.ask[0]: must have exactly one of the keys',
    );
    expect(await deployments().find(childOf('profiles'))).toBeUndefined();
    expect((await readLanes(sql())).has('assistant_three')).toBe(false);

    await remove('profiles');
    await applyLane('profiles', { surface: 'assistant_three', profileRef: { name: 'p', key: 'p.yaml' } });
    expect((await waitFor('profiles', 'Ready', 'ProfileMissing')).message).toContain(
      `ConfigMap ${namespace}/p does not exist. Create it, or correct spec.profileRef.`,
    );
    const put = (data: Record<string, string>) =>
      applyAsUser(connection, core.configMaps, { metadata: { name: 'p', namespace }, data });
    await put({ other: '' });
    await until(
      async () =>
        (await waitFor('profiles', 'Ready', 'ProfileMissing')).message.includes(
          'has no entry "p.yaml" (it has: other)',
        ),
      { ...WAIT, what: 'the entry is missed' },
    );
    await put({ 'p.yaml': 'a: [' });
    expect((await waitFor('profiles', 'Ready', 'InvalidProfile')).message).toContain('is not YAML');
    await put({ 'p.yaml': JSON.stringify(PROFILE) });
    await waitFor('profiles', 'Ready', 'Idle');
    const hashOf = async () =>
      (await deploymentOf('profiles')).spec?.template.metadata?.annotations?.['searchcapture.io/config-hash'];
    const hash = await hashOf();
    await put({ 'p.yaml': JSON.stringify({ ...PROFILE, read: { answer: 'main' } }) });
    await until(async () => (await hashOf()) !== hash, { ...WAIT, what: 'the pods are replaced' });
    const good = await hashOf();
    await put({ 'p.yaml': '{}' });
    expect((await waitFor('profiles', 'Ready', 'InvalidProfile')).message).toContain('goes on with what it had before');
    expect(await hashOf()).toBe(good);
    expect((await readLanes(sql())).get('assistant_three')).toMatchObject({ live: true });
    await remove('profiles');
  });

  it('waits for the Secret of a model, and replaces its pods when that changes', async () => {
    const { connection, namespace } = world;
    const spec = {
      surface: 'assistant_two' as const,
      driver: 'model',
      model: { endpoint: 'https://m.example/v1', model: 'm' },
      modelSecretRef: { name: 'keys', key: 'm' },
    };
    await applyAsUser(connection, captureLanes, { metadata: { name: 'model', namespace }, spec });
    expect((await waitFor('model', 'Ready', 'SecretMissing')).message).toContain(
      `Secret ${namespace}/keys with an entry "m" does not exist`,
    );
    const put = (value: string) =>
      applyAsUser(connection, core.secrets, {
        metadata: { name: 'keys', namespace },
        data: { m: Buffer.from(value).toString('base64') },
      });
    await put('one');
    await waitFor('model', 'Ready', 'Idle');
    const templateOf = async () => (await deploymentOf('model')).spec?.template;
    const before = await templateOf();
    expect(before?.spec?.containers[0]?.env).toContainEqual({
      name: 'MODEL_API_KEY',
      valueFrom: { secretKeyRef: { name: 'keys', key: 'm' } },
    });
    await put('two');
    await until(
      async () =>
        (await templateOf())?.metadata?.annotations?.['searchcapture.io/config-hash'] !==
        before?.metadata?.annotations?.['searchcapture.io/config-hash'],
      { ...WAIT, what: 'the pods are replaced' },
    );
    await remove('model');
  });

  it('says why pods do not come up, to people and to searches', async () => {
    await applyLane('failing', { surface: 'assistant_five', scaling: { ...FAST, minReplicas: 1 } });
    const deployment = await waitForReplicas('failing', 1);
    await waitFor('failing', 'Ready', 'PodsStarting');
    await pods.add(deployment, 'failing-1', {
      phase: 'Pending',
      containerStatuses: [
        {
          name: 'lane',
          image: 'lane:test',
          imageID: '',
          ready: false,
          restartCount: 3,
          state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
          lastState: {
            terminated: { exitCode: 1, reason: 'Error', message: 'DATABASE_URL (Postgres): it must be set\n' },
          },
        },
      ],
    });
    const words =
      'Pod failing-1 does not start (CrashLoopBackOff): exit code 1, Error, its last words: DATABASE_URL (Postgres): it must be set. See its log: kubectl logs failing-1 --previous';
    expect(await waitFor('failing', 'Ready', 'PodsFailing')).toMatchObject({ status: 'False', message: words });
    expect(await waitFor('failing', 'Degraded', 'PodsFailing')).toMatchObject({ status: 'True', message: words });
    expect((await readLanes(sql())).get('assistant_five')).toMatchObject({ live: true, unavailableReason: words });
    const events = await until(
      async () => {
        const { items } = await resourceClient(world.connection, core.events).list({ namespace: world.namespace });
        const found = items.filter(
          ({ regarding, reason }) => regarding?.name === 'failing' && reason === 'PodsFailing',
        );
        return found.length > 0 && found;
      },
      { ...WAIT, what: 'an event' },
    );
    expect(events[0]).toMatchObject({ type: 'Warning', note: words });
    await pods.say(world.namespace, 'failing-1', {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [],
    });
    await waitFor('failing', 'Degraded', 'AsExpected');
    expect((await readLanes(sql())).get('assistant_five')).toMatchObject({ unavailableReason: null });
    await pods.remove(world.namespace, 'failing-1');
    await remove('failing');
  });

  it('says what to do about an image that can not be pulled, in the same words for each attempt', async () => {
    await applyLane('imageless', { surface: 'assistant_five', scaling: { ...FAST, minReplicas: 1 } });
    const deployment = await waitForReplicas('imageless', 1);
    const cause = 'failed to resolve reference "registry.example/lane:nope": not found';
    const waits = (reason: string, message: string) => ({
      phase: 'Pending',
      containerStatuses: [
        {
          name: 'lane',
          image: 'registry.example/lane:nope',
          imageID: '',
          ready: false,
          restartCount: 0,
          state: { waiting: { reason, message } },
        },
      ],
    });
    await pods.add(deployment, 'imageless-1', waits('ErrImagePull', cause));
    const words = `Pod imageless-1 can't get its image registry.example/lane:nope: ${cause}. Correct laneImage and imagePullSecrets in the chart's values, or see that the registry has the image.`;
    expect(await waitFor('imageless', 'Ready', 'PodsFailing')).toMatchObject({ status: 'False', message: words });
    expect(await waitFor('imageless', 'Degraded', 'PodsFailing')).toMatchObject({ status: 'True', message: words });
    expect((await readLanes(sql())).get('assistant_five')).toMatchObject({ unavailableReason: words });

    const { metadata } = await lanes().get(keyOf('imageless'));
    const passes = await countPasses();
    const backOff = `Back-off pulling image "registry.example/lane:nope": ErrImagePull: ${cause}`;
    await pods.say(world.namespace, 'imageless-1', waits('ImagePullBackOff', backOff));
    await until(async () => (await countPasses()) >= passes + 3, { ...WAIT, what: 'three more passes' });
    expect((await lanes().get(keyOf('imageless'))).metadata.resourceVersion).toBe(metadata.resourceVersion);
    await pods.remove(world.namespace, 'imageless-1');
    await remove('imageless');
  });

  it('has as many pods as a person says through /scale, until that is taken back', async () => {
    await applyLane('fixed', { surface: 'engine_news' });
    await waitFor('fixed', 'Ready', 'Idle');
    // As `kubectl scale` does it.
    await world.connection.call({
      method: 'PATCH',
      path: `/apis/searchcapture.io/v1alpha1/namespaces/${world.namespace}/capturelanes/fixed/scale`,
      body: { spec: { replicas: 2 } },
      contentType: 'application/merge-patch+json',
    });
    await waitForReplicas('fixed', 2);
    expect(await waitFor('fixed', 'ScalingActive', 'FixedReplicas')).toMatchObject({ status: 'False' });
    await lanes().patch(keyOf('fixed'), { type: 'merge', body: { spec: { replicas: null } } });
    await waitForReplicas('fixed', 2);
    await waitFor('fixed', 'ScalingActive', 'Idle');
    await remove('fixed');
  });

  it('cordons no pod of another lane', async () => {
    await reportPod(sql(), { pod: 'elsewhere/x', surface: 'engine_search', busy: 0, drained: false });
    await applyLane('other', { surface: 'engine_search' });
    await waitFor('other', 'Ready', 'Idle');
    expect(await reportPod(sql(), { pod: 'elsewhere/x', surface: 'engine_search', busy: 0, drained: false })).toEqual({
      cordoned: false,
    });
    expect(await cordonPods(sql(), ['elsewhere/x'])).toEqual(new Set());
    await remove('other');
  });
});

/** Who says how many pods there are. */
function ownersOfReplicas({ metadata }: Deployment): (string | undefined)[] {
  return (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) => /"f:spec":\{"f:replicas"/.test(JSON.stringify(fieldsV1)))
    .map(({ manager }) => manager);
}
