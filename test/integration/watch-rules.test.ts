import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Plan } from '../../pkg/accounts/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import {
  cancelWatch,
  createWatch,
  listRuns,
  listWatches,
  readManagedWatch,
  readWatch,
  updateWatch,
  type WatchActor,
} from '../../pkg/watches/index.ts';
import { createWebhookGuard } from '../../pkg/webhooks/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';

const PLAN: Plan = {
  id: 'tiny',
  submitsPerMinute: 1,
  syncInFlight: 1,
  queuedChildren: 1,
  activeWatches: 2,
  minWatchIntervalMinutes: 60,
};
const DRAFT = {
  name: '',
  query: 'which bicycle is best?',
  surfaces: ['engine_news' as const],
  regions: [],
  extract: null,
  webhookUrl: null,
  intervalMinutes: 60,
};
const RESOURCE = 'watches.searchcapture.io/team-a/prices';

let test: TestDatabase;
beforeAll(async () => {
  test = await openTestDatabase();
});
afterAll(() => test.close());

const deps = () => ({ db: test.db, clock: systemClock, guard: createWebhookGuard('') });

async function newcomer(changes: Partial<WatchActor> = {}): Promise<WatchActor> {
  return { accountId: await openAccount(test.db), metered: true, plan: PLAN, managedBy: null, ...changes };
}

it('a watch of a Kubernetes resource is changed by it alone, and read by all', async () => {
  const person = await newcomer();
  const controller = { ...person, managedBy: RESOURCE };
  const { id } = await createWatch(deps(), controller, DRAFT);
  expect(await readManagedWatch(test.db, person.accountId, RESOURCE)).toMatchObject({ id, status: 'active' });
  expect(await readWatch(test.db, person.accountId, id)).toMatchObject({ watch: { id }, runs: [] });

  const refused = { code: 'VALIDATION_FAILED', message: expect.stringContaining(RESOURCE) };
  await expect(updateWatch(deps(), person, id, { name: 'mine' })).rejects.toMatchObject(refused);
  await expect(cancelWatch(test.db, person, id)).rejects.toMatchObject(refused);

  const changed = { query: 'which tram?', surfaces: ['engine_search' as const], regions: [{ country: 'DE' }] };
  expect(await updateWatch(deps(), controller, id, changed)).toMatchObject(changed);
  expect(await cancelWatch(test.db, controller, id)).toEqual({ id, status: 'canceled' });
  expect(await cancelWatch(test.db, person, id)).toEqual({ id, status: 'canceled' });
  expect(await readManagedWatch(test.db, person.accountId, RESOURCE)).toBeNull();
});

it('a resource changes no watch that it did not make', async () => {
  const person = await newcomer();
  const { id } = await createWatch(deps(), person, DRAFT);
  const controller = { ...person, managedBy: RESOURCE };
  await expect(updateWatch(deps(), controller, id, { name: 'mine' })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
});

it('a resource has one watch, however many controllers make it at once', async () => {
  const controller = await newcomer({ managedBy: RESOURCE, plan: { ...PLAN, activeWatches: 100 } });
  const made = await Promise.allSettled(Array.from({ length: 5 }, () => createWatch(deps(), controller, DRAFT)));
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(
    await listWatches(test.db, { accountId: controller.accountId, limit: 10, status: null, after: null }),
  ).toHaveLength(1);
});

it("another account's watch is not found, whatever is asked of it", async () => {
  const [owner, stranger] = [await newcomer(), await newcomer()];
  const { id } = await createWatch(deps(), owner, DRAFT);
  const missing = { code: 'WATCH_NOT_FOUND' };
  const { accountId } = stranger;
  await expect(readWatch(test.db, accountId, id)).rejects.toMatchObject(missing);
  await expect(updateWatch(deps(), stranger, id, { name: 'x' })).rejects.toMatchObject(missing);
  await expect(cancelWatch(test.db, stranger, id)).rejects.toMatchObject(missing);
  await expect(listRuns(test.db, { accountId, watchId: id, limit: 1, after: null })).rejects.toMatchObject(missing);
});
