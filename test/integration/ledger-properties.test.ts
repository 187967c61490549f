import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CaptureResult } from '../../pkg/capture/index.ts';
import { ServiceError, SURFACES } from '../../pkg/contract/index.ts';
import { grant, readUsage } from '../../pkg/credits/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import {
  acceptSearches,
  cancelSearch,
  claimCapture,
  findBrokenInvariants,
  settleCapture,
  type Accepted,
} from '../../pkg/searches/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { acceptorOf, captured, newSearch } from '../support/searches.ts';

let test: TestDatabase;

beforeAll(async () => {
  test = await openTestDatabase();
});
afterAll(() => test.close());

const PRICE_CEILING = 9;
const priceOf = (surface: string): number => (surface.length % PRICE_CEILING) + 1;
const deps = () => ({ db: test.db, clock: systemClock, retryBackoffSeconds: 0, queueSeconds: 900 });
const absent: CaptureResult = { outcome: 'absent', effectiveRegion: null, proofHtml: null };

type Step =
  { do: 'grant'; amount: number } | { do: 'accept'; surfaces: number } | { do: 'complete' | 'find absent' | 'cancel' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('grant' as const), amount: fc.integer({ min: 1, max: 40 }) }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('accept' as const), surfaces: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('complete' as const) }) },
  fc.record({ do: fc.constantFrom('find absent' as const, 'cancel' as const) }),
);

/** What an account must stand at, in plain arithmetic. */
type Model = {
  balance: number;
  held: number;
  charged: number;
  open: { price: number; jobId: string; child: number }[];
};

it('keeps balance, holds and charges as plain arithmetic does, whatever happens in which order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 60 }), fc.array(step, { maxLength: 25 }), async (credits, steps) => {
      const accountId = await openAccount(test.db, { credits });
      const model: Model = { balance: credits, held: 0, charged: 0, open: [] };
      const jobs = new Map<string, Accepted>();
      for (const each of steps) {
        await run(accountId, each, model, jobs);
        const { balance, usage } = await readUsage(test.db, accountId, systemClock.nowMs());
        expect(balance).toEqual({ total: model.balance, reserved: model.held, available: model.balance - model.held });
        expect(usage.totals.creditsCharged).toBe(model.charged);
      }
      expect(await findBrokenInvariants(test.db.system)).toEqual([]);
    }),
    { numRuns: 25 },
  );
}, 120_000);

async function run(accountId: string, each: Step, model: Model, jobs: Map<string, Accepted>): Promise<void> {
  switch (each.do) {
    case 'grant':
      await test.db.inTransaction((sql) => grant(sql, accountId, each.amount));
      model.balance += each.amount;
      return;
    case 'accept':
      return accept(accountId, each.surfaces, model, jobs);
    case 'cancel':
      return cancel(accountId, model);
    case 'complete':
    case 'find absent':
      return end(each.do === 'complete' ? captured('An answer.') : absent, model, jobs);
  }
}

async function accept(accountId: string, count: number, model: Model, jobs: Map<string, Accepted>): Promise<void> {
  const surfaces = SURFACES.slice(-count);
  const prices = surfaces.map(priceOf);
  const cost = prices.reduce((sum, price) => sum + price, 0);
  const submit = acceptSearches({ ...deps(), priceOf }, acceptorOf(accountId), [newSearch({ surfaces })]);
  if (cost > model.balance - model.held) {
    await expect(submit).rejects.toMatchObject({ code: 'INSUFFICIENT_CREDITS' });
    return;
  }
  const verdict = (await submit).verdicts[0];
  if (verdict === undefined || 'rejected' in verdict) throw verdict?.rejected ?? new ServiceError('INTERNAL_ERROR');
  jobs.set(verdict.accepted.jobId, verdict.accepted);
  model.held += cost;
  prices.forEach((price, child) => model.open.push({ price, jobId: verdict.accepted.jobId, child }));
}

async function cancel(accountId: string, model: Model): Promise<void> {
  const jobId = model.open[0]?.jobId;
  if (jobId === undefined) return;
  await cancelSearch(deps(), accountId, jobId);
  for (const { price } of model.open.filter((open) => open.jobId === jobId)) model.held -= price;
  model.open = model.open.filter((open) => open.jobId !== jobId);
}

async function end(result: CaptureResult, model: Model, jobs: Map<string, Accepted>): Promise<void> {
  const next = model.open.shift();
  const announcement = next === undefined ? undefined : jobs.get(next.jobId)?.announcements[next.child];
  if (next === undefined || announcement === undefined) return;
  const claim = await claimCapture(test.db, announcement, 30);
  if (claim === null) throw new Error('the next capture could not be claimed');
  const settlement = { claim, result, proofs: [], mentions: null, warnings: [] };
  await settleCapture(deps(), settlement);
  // A second end of the same capture changes nothing.
  expect(await settleCapture(deps(), settlement)).toEqual({ lost: true });
  model.held -= next.price;
  const ends = result.outcome === 'completed';
  if (ends) {
    model.balance -= next.price;
    model.charged += next.price;
  }
}
