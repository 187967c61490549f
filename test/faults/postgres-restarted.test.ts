import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { query } from '../../pkg/postgres/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { openOwnPostgres, type OwnPostgres } from '../support/postgres.ts';
import { until } from '../support/poll.ts';
import { startService, type TestService } from '../support/service.ts';

let postgres: OwnPostgres;
let service: TestService;

beforeAll(async () => {
  postgres = await openOwnPostgres();
  service = await startService({
    database: postgres.database,
    env: { LEASE_SECONDS: '3', RETRY_BACKOFF_SECONDS: '0' },
  });
}, 90_000);
afterAll(async () => {
  await service.close();
  await postgres.close();
});

it('keeps every accepted search through a restart of Postgres under load', async () => {
  const accepted: string[] = [];
  const refused: number[] = [];
  let submitting = true;
  const submit = async (): Promise<void> => {
    while (submitting) {
      const { status, body } = await service.call('POST', '/v1/search?mode=async', {
        query: `load ${accepted.length}`,
        surfaces: ['engine_news'],
      });
      if (status === 202) accepted.push(body.jobId);
      else refused.push(status);
      if (accepted.length >= 40) submitting = false;
    }
  };
  const load = Promise.all([submit(), submit()]);
  await until(() => accepted.length >= 10, { timeoutMs: 20_000, what: 'searches are accepted' });
  await postgres.restart();
  await load;

  expect(refused.every((status) => status === 503 || status === 500)).toBe(true);
  const { db } = postgres.database;
  await until(
    async () => {
      const rows = await query<{ id: string }>(
        db.system,
        `SELECT id FROM captures WHERE state IN ('queued', 'running') LIMIT 1`,
      );
      return rows.length === 0;
    },
    { timeoutMs: 90_000, what: 'all captures end', everyMs: 500 },
  );
  const kept = await query<{ id: string; state: string }>(
    db.system,
    'SELECT id, state FROM searches WHERE id = ANY(:accepted)',
    { accepted },
  );
  expect(kept).toHaveLength(accepted.length);
  expect(kept.filter(({ state }) => state !== 'completed')).toEqual([]);
  expect(await findBrokenInvariants(db.system)).toEqual([]);
}, 150_000);
