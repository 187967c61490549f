import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ServiceError } from '../../pkg/contract/index.ts';
import { readLoad } from '../../pkg/credits/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { acceptSearches, findBrokenInvariants, gatherSubmits, type NewSearch } from '../../pkg/searches/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { acceptorOf, newSearch } from '../support/searches.ts';

const PRICE = 5;

let test: TestDatabase;
let accountId: string;

beforeAll(async () => {
  test = await openTestDatabase();
});
afterAll(() => test.close());
beforeEach(async () => {
  accountId = await openAccount(test.db, { credits: 100 });
});
afterEach(async () => {
  expect(await findBrokenInvariants(test.db.system)).toEqual([]);
});

/** Gathers before the real transaction, and tells how many searches went into each. */
function startGathering() {
  const groups: number[] = [];
  const acceptOne = gatherSubmits((acceptor, searches) => {
    groups.push(searches.length);
    return acceptSearches({ db: test.db, clock: systemClock, priceOf: () => PRICE }, acceptor, searches);
  });
  return { groups, acceptOne };
}

/** All at once; of each its job, or the code of its refusal. */
async function submitAll(
  acceptOne: ReturnType<typeof gatherSubmits>,
  searches: readonly NewSearch[],
  ceilings = { queued: 1_000, syncInFlight: 100 },
): Promise<string[]> {
  const acceptor = acceptorOf(accountId, ceilings);
  const outcomes = await Promise.allSettled(searches.map((search) => acceptOne({ ...acceptor }, search)));
  return outcomes.map((outcome) => {
    if (outcome.status === 'fulfilled') return outcome.value.accepted.jobId;
    if (outcome.reason instanceof ServiceError) return outcome.reason.code;
    throw outcome.reason;
  });
}

const several = (count: number, changes: Partial<NewSearch> = {}): NewSearch[] =>
  Array.from({ length: count }, () => newSearch(changes));
const load = () => readLoad(test.db.system, accountId);
const isJob = (outcome: string): boolean => outcome.startsWith('job_');

it('accepts what comes while a submit is accepted in one transaction, each as a job of its own', async () => {
  const { groups, acceptOne } = startGathering();
  const jobs = await submitAll(acceptOne, several(20));
  expect(groups).toEqual([1, 19]);
  expect(new Set(jobs.filter(isJob)).size).toBe(20);
  expect(await load()).toMatchObject({ held: 100, queued: 20 });
});

it('accepts again after a pause, and does not wait for other accounts', async () => {
  const { groups, acceptOne } = startGathering();
  const other = acceptorOf(await openAccount(test.db));
  await Promise.all([submitAll(acceptOne, several(1)), acceptOne(other, newSearch())]);
  await submitAll(acceptOne, several(1));
  expect(groups).toEqual([1, 1, 1]);
});

it.each([
  ['credits', several(50), { queued: 1_000, syncInFlight: 100 }, 20, 'INSUFFICIENT_CREDITS'],
  ['room in the queue', several(10), { queued: 4, syncInFlight: 100 }, 4, 'QUEUE_CAPACITY_EXCEEDED'],
])('gives the last %s to as many of a group as they are enough for', async (_, searches, ceilings, enough, code) => {
  const outcomes = await submitAll(startGathering().acceptOne, searches, ceilings);
  expect(outcomes.filter(isJob)).toHaveLength(enough);
  expect(new Set(outcomes.filter((outcome) => !isJob(outcome)))).toEqual(new Set([code]));
  expect(await load()).toMatchObject({ held: enough * PRICE, queued: enough });
});

it('lets a search that the database refuses spoil no other', async () => {
  const outcomes = await submitAll(startGathering().acceptOne, [
    ...several(3),
    newSearch({ query: 'a NUL \u0000 that validation would have found' }),
    ...several(3),
  ]);
  expect(outcomes.map((outcome) => (isJob(outcome) ? 'job' : outcome))).toEqual([
    'job',
    'job',
    'job',
    'SUBMISSION_FAILED',
    'job',
    'job',
    'job',
  ]);
  expect(await load()).toMatchObject({ held: 6 * PRICE, queued: 6 });
});

it('tries none again when it is not known what was written, and accepts what comes later', async () => {
  let calls = 0;
  const acceptOne = gatherSubmits((acceptor, searches) => {
    calls += 1;
    return calls <= 2
      ? Promise.reject(new ServiceError('SUBMISSION_FAILED', undefined, { cause: new Error('connection lost') }))
      : acceptSearches({ db: test.db, clock: systemClock, priceOf: () => PRICE }, acceptor, searches);
  });
  expect(await submitAll(acceptOne, several(5))).toEqual(Array(5).fill('SUBMISSION_FAILED'));
  expect(calls).toBe(2);
  expect((await submitAll(acceptOne, several(1))).every(isJob)).toBe(true);
});

it('gathers neither synchronous searches, which have a ceiling each, nor those that may wait for a key', async () => {
  const { groups, acceptOne } = startGathering();
  const keyed = { idempotency: { key: 'once', fingerprint: Buffer.from('same') } };
  const outcomes = await submitAll(
    acceptOne,
    [...several(3), ...several(5, { method: 'sync' }), ...several(5, keyed)],
    { queued: 1_000, syncInFlight: 4 },
  );
  expect(groups.toSorted()).toEqual([...Array.from({ length: 11 }, () => 1), 2]);
  expect(outcomes.slice(3, 8).filter(isJob)).toHaveLength(4);
  expect(new Set(outcomes.slice(8)).size).toBe(1);
  expect(await load()).toMatchObject({ queued: 3 + 4 + 1, syncInFlight: 4 });
});
