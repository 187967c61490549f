import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { query } from '../../pkg/postgres/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { openAccount } from '../support/accounts.ts';
import { until } from '../support/poll.ts';
import type { TestProcess } from '../support/processes.ts';
import { startService, type TestService } from '../support/service.ts';
import { insertDueWatches } from '../support/watches.ts';

const WATCHES = 10_000;
/** A few accounts whose watches fill batches of their own, and many that share one. */
const LARGE = { accounts: 5, watches: 1_000 };
const SMALL = { accounts: 250, watches: 20 };

let service: TestService;

/** Runs that this dispatcher has committed. */
async function countOwnRuns({ url }: TestProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(10_000) })).text();
  return Number(/^scs_watch_runs_total\{status="dispatched"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

beforeAll(async () => {
  service = await startService();
  // Lanes are published, and nothing is captured: what the dispatchers do is all that happens.
  await service.lane.stop();
}, 90_000);
afterAll(() => service.close());

it('runs 10,000 watches of one minute exactly once when one of two dispatchers is killed in the middle', async () => {
  const sql = service.database.db.system;
  const second = await service.processes.start('dispatcher');
  for (const { accounts, watches } of [LARGE, SMALL]) {
    const ids = await Promise.all(
      Array.from({ length: accounts }, () => openAccount(service.database.db, { credits: 100_000, plan: 'internal' })),
    );
    for (const accountId of ids) await insertDueWatches(sql, { accountId, count: watches, dueSecondsAgo: -3_600 });
  }
  // One tick for all of them, in a moment: both dispatchers are there when it comes.
  await query(sql, `UPDATE watches SET next_run_at = now() + interval '2 seconds'`);
  const countRuns = async (): Promise<number> =>
    (await query<{ runs: number }>(sql, 'SELECT count(*) AS runs FROM watch_runs'))[0]?.runs ?? 0;

  await until(async () => (await countRuns()) >= WATCHES / 10, {
    timeoutMs: 60_000,
    what: 'a part of the watches has run',
    everyMs: 5,
  });
  const [first = 0, other = 0] = await Promise.all([service.dispatcher, second].map(countOwnRuns));
  await (first > other ? service.dispatcher : second).kill9();
  expect(Math.max(first, other)).toBeGreaterThan(0);
  expect(await countRuns()).toBeLessThan(WATCHES);

  await until(async () => (await countRuns()) >= WATCHES, { timeoutMs: 120_000, what: 'all watches have run' });
  // Whatever was doubled would show in the next turns at the latest.
  const due = () => query(sql, `SELECT id FROM watches WHERE status = 'active' AND next_run_at <= now()`);
  await until(async () => (await due()).length === 0, { timeoutMs: 30_000, what: 'nothing is due' });

  const [counts] = await query(
    sql,
    `SELECT count(*) AS runs, count(DISTINCT r.watch_id) AS watches, count(DISTINCT r.job_id) AS jobs,
            count(*) FILTER (WHERE r.status = 'dispatched' AND r.scheduled_for = w.next_run_at - interval '1 hour'
                             AND w.last_job_id = r.job_id) AS "onTick",
            (SELECT count(*) FROM searches WHERE method = 'watch') AS searches,
            (SELECT count(*) FROM captures) AS captures
     FROM watch_runs r JOIN watches w ON w.id = r.watch_id`,
  );
  expect(counts).toEqual({
    runs: WATCHES,
    watches: WATCHES,
    jobs: WATCHES,
    onTick: WATCHES,
    searches: WATCHES,
    captures: WATCHES,
  });
  expect(await findBrokenInvariants(sql)).toEqual([]);
}, 300_000);
