import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { loadPlans, revokeKey, type Scope } from '../../pkg/accounts/index.ts';
import { newId } from '../../pkg/contract/index.ts';
import { core, resourceClient, type Desired, type Key } from '../../pkg/operator/kube/index.ts';
import { watches, type WatchObject } from '../../pkg/operator/resources/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { listWatches, readWatch, updateWatch, type WatchActor } from '../../pkg/watches/index.ts';
import { createWebhookGuard } from '../../pkg/webhooks/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { describeOnKube } from '../support/kube/cluster.ts';
import { applyAsUser, openTestOperator, waitForReason, type TestOperator } from '../support/kube/operator.ts';
import { until } from '../support/poll.ts';

const WAIT = { timeoutMs: 30_000 };

describeOnKube('the controller of Watches', () => {
  let world: TestOperator;
  let accountId = '';
  let keyId = '';
  let count = 0;
  let name = '';
  beforeAll(async () => {
    world = await openTestOperator();
    await world.start();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    accountId = await openAccount(world.database.db, { plan: 'pro' });
    const made = await openKey(world.database.db, accountId);
    keyId = made.keyId;
    count += 1;
    name = `watch-${count}`;
    await putKey(made.key);
  });

  const key = (): Key => ({ namespace: world.namespace, name });
  const resources = () => resourceClient(world.connection, watches);
  const db = () => world.database.db;
  const putKey = (value: string) =>
    applyAsUser(world.connection, core.secrets, {
      metadata: { name, namespace: world.namespace },
      data: { 'api-key': Buffer.from(value).toString('base64') },
    });
  const applyWatch = (more: Partial<WatchObject['spec']> = {}) => {
    const object: Desired<WatchObject> = {
      metadata: { name, namespace: world.namespace },
      spec: {
        query: 'Which bicycle is best?',
        surfaces: ['engine_news'],
        schedule: { every: '1h' },
        apiKeySecretRef: { name, key: 'api-key' },
        ...more,
      },
    };
    return applyAsUser(world.connection, watches, object);
  };
  const waitFor = (reason: string, type = 'Ready') => waitForReason(world.connection, watches, key(), type, reason);
  const listOwn = (of = accountId) => listWatches(db(), { accountId: of, limit: 10, status: null, after: null });
  const readOwn = async () => {
    const [watch] = await listOwn();
    if (watch === undefined) throw new Error('the account has no watch');
    return watch;
  };

  it('mirrors a Watch, and the state of it back', async () => {
    await applyWatch({
      name: 'Bicycles',
      regions: [{ country: 'de', language: 'de' }],
      extract: { targets: ['Acme'] },
    });
    expect(await waitFor('Scheduled')).toMatchObject({ status: 'True', message: 'The watch runs every 1h.' });
    const watch = await readOwn();
    expect(watch).toMatchObject({
      name: 'Bicycles',
      query: 'Which bicycle is best?',
      regions: [{ country: 'DE', language: 'de' }],
      extract: { targets: ['Acme'] },
      status: 'active',
    });
    const { status, metadata } = await resources().get(key());
    expect(status).toMatchObject({
      id: watch.id,
      accountId,
      schedule: '1h',
      nextRunAt: watch.nextRunAt.replace(/\.\d+Z/, 'Z'),
    });
    expect(metadata.finalizers).toEqual(['searchcapture.io/cancel-watch']);
  });

  it('changes the watch when its resource changes, and pauses it while it is suspended', async () => {
    await applyWatch();
    await waitFor('Scheduled');
    const { id } = await readOwn();
    await applyWatch({
      query: 'Which scooter?',
      surfaces: ['engine_news', 'engine_search'],
      schedule: { intervalMinutes: 90 },
      suspend: true,
    });
    expect(await waitFor('Suspended')).toMatchObject({ status: 'False' });
    expect(await waitFor('SuspendedInSpec', 'Suspended')).toMatchObject({ status: 'True' });
    expect(await readOwn()).toMatchObject({
      id,
      query: 'Which scooter?',
      status: 'paused',
      schedule: { every: '90m' },
    });
    expect((await resources().get(key())).status?.nextRunAt).toBeUndefined();
    await applyWatch();
    await waitFor('Scheduled');
    expect(await readOwn()).toMatchObject({
      id,
      query: 'Which bicycle is best?',
      status: 'active',
      schedule: { every: '1h' },
    });
  });

  it('shows the latest run soon after it', async () => {
    await applyWatch();
    await waitFor('Scheduled');
    const { id } = await readOwn();
    await insertRun(id, 'skipped_limit', 'the queue of the account is full');
    expect(await waitFor('LastRunFailed')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('the queue of the account is full'),
    });
    expect((await resources().get(key())).status).toMatchObject({ lastOutcome: 'skipped_limit' });
  });

  async function insertRun(watchId: string, status: string, detail: string): Promise<void> {
    await query(
      db().system,
      `INSERT INTO watch_runs (id, account_id, watch_id, scheduled_for, status, detail)
       VALUES (:id, :accountId, :watchId, now(), :status, :detail)`,
      { id: newId('wrun', Date.now()), accountId, watchId, status, detail },
    );
  }

  it('says how to go on when credits have run out, and does go on then', async () => {
    await applyWatch();
    await waitFor('Scheduled');
    const { id } = await readOwn();
    await query(
      db().system,
      `UPDATE watches SET status = 'paused', paused_reason = 'insufficient_credits', credit_skips = 3 WHERE id = :id`,
      { id },
    );
    await insertRun(id, 'skipped_credits', 'needs 3 credits, has 0');
    expect((await waitFor('InsufficientCredits')).message).toContain('set spec.suspend to true and back to false');
    await applyWatch({ suspend: true });
    await waitFor('Suspended');
    await applyWatch();
    await until(async () => (await readOwn()).status === 'active', { ...WAIT, what: 'the watch runs again' });
  });

  it.each<{ wrong: string; scopes?: Scope[]; secret?: string; reason: string; message: RegExp }>([
    {
      wrong: 'is no key',
      secret: 'sk_live_nonsense',
      reason: 'KeyRejected',
      message: /is unknown or revoked. Put a valid one there/,
    },
    {
      wrong: 'may not write watches',
      scopes: ['search:write'],
      reason: 'KeyNotAllowed',
      message: /lacks the scope watches:write/,
    },
  ])('makes nothing with a key that $wrong', async ({ scopes, secret, reason, message }) => {
    const made = scopes === undefined ? null : await openKey(db(), accountId, 'live', scopes);
    await putKey(secret ?? made?.key ?? '');
    await applyWatch();
    expect(await waitFor(reason)).toMatchObject({ status: 'False', message: expect.stringMatching(message) });
    expect(await listOwn()).toEqual([]);
  });

  it('waits for its Secret, and for the entry in it', async () => {
    await applyWatch({ apiKeySecretRef: { name: `${name}-late`, key: 'api-key' } });
    expect((await waitFor('SecretMissing')).message).toContain(`Secret ${world.namespace}/${name}-late does not exist`);
    const { key: value } = await openKey(db(), accountId);
    const put = (data: Record<string, string>) =>
      applyAsUser(world.connection, core.secrets, {
        metadata: { name: `${name}-late`, namespace: world.namespace },
        data,
      });
    await put({ other: '' });
    await until(
      async () => (await waitFor('SecretMissing')).message.includes('has no entry "api-key" (it has: other)'),
      { ...WAIT, what: 'the entry is missed' },
    );
    await put({ 'api-key': Buffer.from(`${value}\n`).toString('base64') });
    await waitFor('Scheduled');
  });

  it('pauses the watch when its key is revoked, and resumes it with another', async () => {
    await applyWatch();
    await waitFor('Scheduled');
    await revokeKey(db().system, keyId);
    expect((await waitFor('KeyRejected')).message).toContain('the watch is paused until then');
    expect(await readOwn()).toMatchObject({ status: 'paused', pausedReason: 'key_rejected' });
    await putKey((await openKey(db(), accountId)).key);
    await waitFor('Scheduled');
    expect(await readOwn()).toMatchObject({ status: 'active', pausedReason: null });
  });

  it('moves with its key to another account', async () => {
    await applyWatch();
    await waitFor('Scheduled');
    const other = await openAccount(db(), { plan: 'pro' });
    await putKey((await openKey(db(), other)).key);
    await until(async () => (await listOwn(other)).length === 1, { ...WAIT, what: 'the other account has the watch' });
    expect(await listOwn()).toMatchObject([{ status: 'canceled' }]);
    await until(async () => (await resources().get(key())).status?.accountId === other, {
      ...WAIT,
      what: 'the status says so',
    });
  });

  it.each<{ wrong: string; spec: Partial<WatchObject['spec']>; reason: string; message: RegExp }>([
    {
      wrong: 'runs too often',
      spec: { schedule: { intervalMinutes: 1 } },
      reason: 'IntervalTooShort',
      message: /plan pro allows at least 15 minutes/,
    },
    {
      wrong: 'calls an address inside',
      spec: { webhookUrl: 'https://127.0.0.1/x' },
      reason: 'InvalidSpec',
      message: /webhookUrl/,
    },
    {
      wrong: 'has a language that is none',
      spec: { regions: [{ country: 'DE', language: 'not a language' }] },
      reason: 'InvalidSpec',
      message: /regions\[0\]\.language/,
    },
  ])('says so when a Watch $wrong, and leaves the old one as it was', async ({ spec, reason, message }) => {
    await applyWatch(spec);
    expect(await waitFor(reason)).toMatchObject({ status: 'False', message: expect.stringMatching(message) });
    expect(await listOwn()).toEqual([]);
    await applyWatch();
    await waitFor('Scheduled');
    await applyWatch(spec);
    expect((await waitFor(reason)).message).toContain('Until then the watch runs as it was before.');
    expect(await readOwn()).toMatchObject({ status: 'active', schedule: { every: '1h' } });
  });

  it('says so at the ceiling of the plan', async () => {
    const free = await openAccount(db(), { plan: 'free' });
    await putKey((await openKey(db(), free)).key);
    const { activeWatches } = (await loadPlans('config/plans')).get('free');
    await query(
      db().system,
      `INSERT INTO watches (id, account_id, name, query, surfaces, regions, metered, interval_minutes, next_run_at)
       SELECT 'watch_full' || n, :free, '', 'x', '{engine_news}', '[]', true, 60, now() + interval '1 hour'
       FROM generate_series(1, CAST(:activeWatches AS int)) AS n`,
      { free, activeWatches },
    );
    await applyWatch();
    expect((await waitFor('LimitExceeded')).message).toContain(`allows ${activeWatches} active watches`);
  });

  it('is the only one who may change its watch', async () => {
    await applyWatch();
    await waitFor('Scheduled');
    const { id } = await readOwn();
    const plan = (await loadPlans('config/plans')).get('pro');
    const actor: WatchActor = { accountId, metered: true, plan, managedBy: null };
    const deps = { db: db(), clock: systemClock, guard: createWebhookGuard('') };
    await expect(updateWatch(deps, actor, id, { name: 'mine' })).rejects.toThrow(
      `managed by the Kubernetes resource watches.searchcapture.io/${world.namespace}/${name}`,
    );
    expect((await readWatch(db(), accountId, id)).watch.name).toBe('');
  });

  it('cancels the watch when its Watch is deleted, also when its key is gone', async () => {
    await applyWatch();
    await waitFor('Scheduled');
    await resourceClient(world.connection, core.secrets).delete(key());
    await waitFor('SecretMissing');
    await resources().delete(key());
    await until(async () => (await resources().find(key())) === undefined, { ...WAIT, what: 'the Watch is gone' });
    expect(await listOwn()).toMatchObject([{ status: 'canceled' }]);
  });

  it('writes nothing while nothing changes', async () => {
    await applyWatch();
    await waitFor('Scheduled');
    const { metadata } = await resources().get(key());
    const passes = await countPasses();
    // A Secret that changes in nothing that matters wakes its Watch.
    for (const value of ['1', '2', '3']) {
      await resourceClient(world.connection, core.secrets).patch(key(), {
        type: 'merge',
        body: { metadata: { labels: { value } } },
      });
      await until(async () => (await countPasses()) > passes + Number(value) - 1, { ...WAIT, what: 'one more pass' });
    }
    expect((await resources().get(key())).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  async function countPasses(): Promise<number> {
    const metric = await world.registry.getSingleMetric('controller_runtime_reconcile_total')?.get();
    return (
      metric?.values.reduce((sum, { value, labels }) => sum + (labels['controller'] === 'watch' ? value : 0), 0) ?? 0
    );
  }
});
