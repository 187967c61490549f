import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Outcome } from '../../pkg/capture/index.ts';
import { ServiceError } from '../../pkg/contract/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import {
  acceptSearches,
  announceDue,
  cancelSearch,
  claimCapture,
  expireDue,
  findBrokenInvariants,
  readChild,
  readParent,
  renewLease,
  rescueLost,
  settleCapture,
  type Claim,
} from '../../pkg/searches/index.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { accept, acceptorOf, captured, newSearch } from '../support/searches.ts';

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

const deps = () => ({ db: test.db, clock: systemClock, retryBackoffSeconds: 0, queueSeconds: 900 });

async function load() {
  const [row] = await query(
    test.db.system,
    'SELECT balance, held, queued, running, sync_in_flight FROM accounts WHERE id = :accountId',
    { accountId },
  );
  return row;
}

async function claimFirst(accepted: {
  announcements: readonly { captureId: string; surface: string; fence: number }[];
}): Promise<Claim> {
  const [announcement] = accepted.announcements;
  if (announcement === undefined) throw new Error('nothing was announced');
  const claim = await claimCapture(test.db, announcement, 30);
  if (claim === null) throw new Error('not claimed');
  return claim;
}

const settle = (claim: Claim, result = captured('An answer.')) =>
  settleCapture(deps(), { claim, result, proofs: [], mentions: null, warnings: [] });

describe('accepting', () => {
  it('makes one child for each surface and region and holds the sum of their prices', async () => {
    const accepted = await accept(test.db, accountId, {
      surfaces: ['assistant_one', 'engine_news'],
      regions: [{ country: 'DE', city: 'Köln' }, { country: 'US' }],
    });
    expect(accepted.children).toEqual(
      ['assistant_one.de:köln', 'assistant_one.us', 'engine_news.de:köln', 'engine_news.us'].map(
        (end) => `${accepted.jobId}.${end}`,
      ),
    );
    expect(await load()).toMatchObject({ balance: 100, held: 20, queued: 4, running: 0 });
  });

  it('lets racing submits spend the last credits once and refuses the others', async () => {
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => accept(test.db, accountId)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    const reasons = results.flatMap((result) =>
      result.status === 'rejected' && result.reason instanceof ServiceError ? [result.reason.code] : [],
    );
    expect(new Set(reasons)).toEqual(new Set(['INSUFFICIENT_CREDITS']));
    expect(await load()).toMatchObject({ balance: 100, held: 100, queued: 20 });
  });

  it('gives racing submits with one idempotency key one job', async () => {
    const idempotency = { key: 'once', fingerprint: Buffer.from('same') };
    const accepted = await Promise.all(Array.from({ length: 30 }, () => accept(test.db, accountId, { idempotency })));
    expect(new Set(accepted.map(({ jobId }) => jobId)).size).toBe(1);
    expect(accepted.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await load()).toMatchObject({ held: 5, queued: 1 });
  });

  it('refuses an idempotency key that came with another body', async () => {
    await accept(test.db, accountId, { idempotency: { key: 'k', fingerprint: Buffer.from('one') } });
    await expect(
      accept(test.db, accountId, { idempotency: { key: 'k', fingerprint: Buffer.from('two') } }),
    ).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
  });

  it('does not use up an idempotency key when the search is refused', async () => {
    const idempotency = { key: 'later', fingerprint: Buffer.from('same') };
    const poor = await openAccount(test.db, { credits: 4 });
    await expect(accept(test.db, poor, { idempotency })).rejects.toMatchObject({ code: 'INSUFFICIENT_CREDITS' });
    const rows = await query(test.db.system, 'SELECT 1 FROM idempotency_keys WHERE account_id = :poor', { poor });
    expect(rows).toEqual([]);
  });

  it('keeps the keys of two accounts apart', async () => {
    const idempotency = { key: 'shared', fingerprint: Buffer.from('same') };
    const other = await openAccount(test.db);
    const mine = await accept(test.db, accountId, { idempotency });
    const theirs = await accept(test.db, other, { idempotency });
    expect(theirs).toMatchObject({ replayed: false });
    expect(theirs.jobId).not.toBe(mine.jobId);
  });

  it('accepts a batch with one key twice as one job and a replay', async () => {
    const search = newSearch({ idempotency: { key: 'twice', fingerprint: Buffer.from('same') } });
    const { verdicts } = await acceptSearches({ ...deps(), priceOf: () => 5 }, acceptorOf(accountId), [search, search]);
    expect(verdicts).toMatchObject([{ accepted: { replayed: false } }, { accepted: { replayed: true } }]);
    expect(await load()).toMatchObject({ held: 5 });
  });

  it('refuses what the queue has no room for, and holds nothing', async () => {
    const narrow = acceptorOf(accountId, { queued: 2, syncInFlight: 4 });
    const search = newSearch({ surfaces: ['assistant_one', 'assistant_three', 'engine_news'] });
    await expect(acceptSearches({ ...deps(), priceOf: () => 5 }, narrow, [search])).rejects.toMatchObject({
      code: 'QUEUE_CAPACITY_EXCEEDED',
    });
    expect(await load()).toMatchObject({ held: 0, queued: 0 });
  });
});

describe('claiming', () => {
  it('gives a capture that is announced ten times at once to one lane', async () => {
    const { announcements } = await accept(test.db, accountId);
    const [announcement] = announcements;
    if (announcement === undefined) throw new Error('nothing was announced');
    const claims = await Promise.all(Array.from({ length: 10 }, () => claimCapture(test.db, announcement, 30)));
    expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
    expect(await load()).toMatchObject({ queued: 0, running: 1 });
  });

  it('renews a lease only for the holder of the newest fence', async () => {
    const claim = await claimFirst(await accept(test.db, accountId));
    expect(await renewLease(test.db, claim, 30)).toBe(true);
    expect(await renewLease(test.db, { ...claim, fence: claim.fence - 1 }, 30)).toBe(false);
  });
});

describe('settling', () => {
  it('charges a completed capture once, however often it is settled', async () => {
    const claim = await claimFirst(await accept(test.db, accountId));
    const settled = await Promise.all(Array.from({ length: 10 }, () => settle(claim)));
    expect(settled.filter((one) => 'ended' in one)).toHaveLength(1);
    expect(await load()).toMatchObject({ balance: 95, held: 0, running: 0 });
  });

  it.each<[Outcome, string, string | null]>([
    ['absent', 'completed', null],
    ['empty', 'failed', 'EMPTY_ANSWER'],
    ['blocked', 'failed', 'ACQUISITION_FAILED'],
    ['timeout', 'failed', 'SURFACE_TIMEOUT'],
    ['partial', 'partial', null],
  ])('ends a capture that was %s as %s, with %s, uncharged', async (outcome, state, code) => {
    const accepted = await accept(test.db, accountId);
    const claim = await claimFirst(accepted);
    const page = captured('Half an ans');
    const result =
      outcome === 'partial' && page.outcome === 'completed'
        ? { ...page, outcome }
        : outcome === 'absent'
          ? { outcome, effectiveRegion: null, proofHtml: null }
          : outcome === 'empty' || outcome === 'blocked' || outcome === 'timeout'
            ? { outcome, detail: 'seen' }
            : page;
    await settle(claim, result);
    const child = await readChild(test.db, accountId, claim.captureId, false);
    expect(child).toMatchObject({
      ended: { job: { status: state }, credits: { creditsToCharge: 5, creditsCharged: 0 } },
    });
    expect('ended' in child ? (child.ended.job.error?.code ?? null) : undefined).toBe(code);
    expect(await load()).toMatchObject({ balance: 100, held: 0 });
  });

  it('says that an absent surface is absent', async () => {
    const claim = await claimFirst(await accept(test.db, accountId, { surfaces: ['engine_news'] }));
    const settled = await settle(claim, { outcome: 'absent', effectiveRegion: null, proofHtml: null });
    expect(settled).toMatchObject({
      ended: {
        job: { warnings: ['surface_absent'] },
        provenance: { surfacePresent: false },
        answer: { text: '', markdown: '', blocks: [] },
      },
    });
  });

  it('tries a crashed capture three times, then fails it with its hold released', async () => {
    const accepted = await accept(test.db, accountId);
    let claim = await claimFirst(accepted);
    for (const attempt of [1, 2]) {
      expect(claim.attempts).toBe(attempt);
      expect(await settle(claim, { outcome: 'crashed', detail: 'The renderer died.' })).toEqual({ retried: true });
      const again = await claimCapture(
        test.db,
        { captureId: claim.captureId, surface: 'assistant_one', fence: claim.fence + 1 },
        30,
      );
      if (again === null) throw new Error('the retry can not be claimed');
      claim = again;
    }
    expect(await settle(claim, { outcome: 'crashed', detail: 'The renderer died.' })).toMatchObject({
      ended: {
        job: { status: 'failed', attempts: 3, error: { code: 'ACQUISITION_FAILED', error: 'The renderer died.' } },
      },
    });
    expect(await load()).toMatchObject({ balance: 100, held: 0, queued: 0, running: 0 });
  });

  it('waits twice as long before each further attempt', async () => {
    let claim = await claimFirst(await accept(test.db, accountId));
    for (const seconds of [100, 200]) {
      const result = { outcome: 'crashed', detail: 'The renderer died.' } as const;
      const settlement = { claim, result, proofs: [], mentions: null, warnings: [] };
      expect(await settleCapture({ ...deps(), retryBackoffSeconds: 100 }, settlement)).toEqual({ retried: true });
      const [row] = await query<{ waits: number }>(
        test.db.system,
        'SELECT extract(epoch FROM announce_at - now())::float8 AS waits FROM captures WHERE id = :captureId',
        { captureId: claim.captureId },
      );
      expect(row?.waits).toBeGreaterThan(seconds - 60);
      expect(row?.waits).toBeLessThanOrEqual(seconds);
      const next = { captureId: claim.captureId, surface: 'assistant_one', fence: claim.fence + 1 } as const;
      const again = await claimCapture(test.db, next, 30);
      if (again === null) throw new Error('the retry can not be claimed');
      claim = again;
    }
  });
});

describe('a fence that moved', () => {
  it('lets a lane that was taken for dead change nothing', async () => {
    const accepted = await accept(test.db, accountId);
    const stale = await claimFirst(accepted);
    await query(test.db.system, `UPDATE captures SET lease_until = now() - interval '1 second' WHERE id = :id`, {
      id: stale.captureId,
    });
    expect(await rescueLost(deps(), 900)).toBe(1);
    const fresh = await claimCapture(
      test.db,
      { captureId: stale.captureId, surface: 'assistant_one', fence: stale.fence + 1 },
      30,
    );
    if (fresh === null) throw new Error('the rescued capture can not be claimed');
    expect(await settle(stale, captured('From the dead.'))).toEqual({ lost: true });
    await settle(fresh, captured('From the living.'));
    expect(await readChild(test.db, accountId, fresh.captureId, false)).toMatchObject({
      ended: { answer: { text: 'From the living.' } },
    });
    expect(await load()).toMatchObject({ balance: 95 });
  });

  it('fails a capture whose lane is lost three times', async () => {
    const accepted = await accept(test.db, accountId);
    let fence = 0;
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const claim = await claimCapture(
        test.db,
        { captureId: accepted.children[0] ?? '', surface: 'assistant_one', fence },
        30,
      );
      if (claim === null) throw new Error('not claimed');
      await query(test.db.system, `UPDATE captures SET lease_until = now() - interval '1 second' WHERE id = :id`, {
        id: claim.captureId,
      });
      expect(await rescueLost(deps(), 900)).toBe(1);
      fence = claim.fence + 1;
    }
    expect(await readParent(test.db, accountId, accepted.jobId)).toMatchObject({ job: { status: 'failed' } });
    expect(await load()).toMatchObject({ balance: 100, held: 0 });
  });
});

describe('canceling', () => {
  it('ends what has not ended, keeps what has, and rolls up to partial', async () => {
    const accepted = await accept(test.db, accountId, { surfaces: ['assistant_one', 'engine_news', 'engine_search'] });
    await settle(await claimFirst(accepted));
    expect(await cancelSearch(deps(), accountId, accepted.jobId)).toBe('partial');
    const parent = await readParent(test.db, accountId, accepted.jobId);
    expect(parent.children.map(({ status }) => status)).toEqual(['completed', 'canceled', 'canceled']);
    expect(await load()).toMatchObject({ balance: 95, held: 0, queued: 0 });
  });

  it('decides a race with the end of the capture once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const accepted = await accept(test.db, accountId);
      const claim = await claimFirst(accepted);
      const [state, settled] = await Promise.all([cancelSearch(deps(), accountId, accepted.jobId), settle(claim)]);
      expect(state).toBe('ended' in settled ? 'completed' : 'canceled');
    }
  });

  it("does not know another account's job", async () => {
    const accepted = await accept(test.db, accountId);
    const other = await openAccount(test.db);
    await expect(cancelSearch(deps(), other, accepted.jobId)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    await expect(readParent(test.db, other, accepted.jobId)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    await expect(readChild(test.db, other, accepted.children[0] ?? '', false)).rejects.toMatchObject({
      code: 'JOB_NOT_FOUND',
    });
  });
});

describe('sweeping', () => {
  it('announces what was accepted and never announced, and again while it waits', async () => {
    const accepted = await accept(test.db, accountId);
    const announced: string[] = [];
    const announcer = {
      announce: (list: readonly { captureId: string }[]) => {
        announced.push(...list.map(({ captureId }) => captureId));
        return Promise.resolve();
      },
      ping: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
    const makeDue = () =>
      query(test.db.system, `UPDATE captures SET announce_at = now() - interval '1 second' WHERE search_id = :id`, {
        id: accepted.jobId,
      });
    await makeDue();
    await announceDue({ db: test.db, announcer }, 60);
    await announceDue({ db: test.db, announcer }, 60);
    expect(announced.filter((id) => id === accepted.children[0])).toHaveLength(1);
    await makeDue();
    await announceDue({ db: test.db, announcer }, 60);
    expect(announced.filter((id) => id === accepted.children[0])).toHaveLength(2);
  });

  it('expires what waited too long, uncharged', async () => {
    const accepted = await accept(test.db, accountId, {
      surfaces: ['assistant_one', 'engine_news'],
      queueSeconds: () => 0,
    });
    expect(
      await claimCapture(test.db, { captureId: accepted.children[0] ?? '', surface: 'assistant_one', fence: 0 }, 30),
    ).toBeNull();
    await expireDue(deps());
    expect(await readParent(test.db, accountId, accepted.jobId)).toMatchObject({ job: { status: 'expired' } });
    expect(await load()).toMatchObject({ balance: 100, held: 0, queued: 0 });
  });
});

describe('row-level security', () => {
  it("shows a tenant's connection no row of another account, even to a query that forgets the owner", async () => {
    await accept(test.db, accountId);
    const other = await openAccount(test.db);
    const seen = await test.db.asTenant(other, (sql) =>
      query(sql, 'SELECT id FROM captures UNION ALL SELECT id FROM searches UNION ALL SELECT id FROM accounts'),
    );
    expect(seen).toEqual([{ id: other }]);
  });
});
