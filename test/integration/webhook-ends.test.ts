import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TerminalState } from '../../pkg/contract/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { readChild } from '../../pkg/searches/index.ts';
import { endCaptures, type Ending } from '../../pkg/searches/end.ts';
import { openAccount } from '../support/accounts.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { accept } from '../support/searches.ts';

let database: TestDatabase;
let accountId: string;
beforeAll(async () => {
  database = await openTestDatabase();
  accountId = await openAccount(database.db, { credits: 5_000 });
});
afterAll(() => database.close());

const webhook = { url: 'https://hook.test/', sealSecret: () => `sealed ${randomBytes(4).toString('hex')}` };

async function acceptTwo(): Promise<{ jobId: string; children: string[] }> {
  const { jobId, children } = await accept(database.db, accountId, {
    surfaces: ['engine_news', 'engine_search'],
    webhook,
  });
  return { jobId, children: [...children] };
}

const FOUND: Ending['findings'] = {
  surfacePresent: true,
  answer: {
    text: 'Grüße 🦊',
    markdown: 'Grüße 🦊',
    blocks: [{ type: 'paragraph', text: 'Grüße 🦊', referenceIds: [] }],
  },
  evidence: { sources: [], fanOut: { provenance: 'none', queries: [] }, mentions: null, shopping: null, ads: null },
  model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
  webSearch: null,
  effectiveRegion: null,
  warnings: [],
};

function ending(captureId: string, state: TerminalState): Ending {
  return {
    captureId,
    fence: null,
    state,
    outcome: state,
    billed: state === 'completed',
    error: state === 'failed' ? { code: 'ACQUISITION_FAILED', error: 'It failed.' } : null,
    findings: state === 'completed' ? FOUND : null,
  };
}

type Row = {
  captureId: string;
  type: string;
  state: string;
  body: string;
  secret: string | null;
  sealed: string | null;
};

const deliveriesOf = (jobId: string): Promise<Row[]> =>
  query<Row>(
    database.db.system,
    `SELECT d.capture_id AS "captureId", d.type, coalesce(e.state, 'pending') AS state, d.body, d.secret_ciphertext AS secret, s.webhook_secret_ciphertext AS sealed
     FROM webhook_deliveries d LEFT JOIN webhook_ends e ON e.delivery_id = d.id JOIN captures c ON c.id = d.capture_id JOIN searches s ON s.id = c.search_id
     WHERE s.id = :jobId ORDER BY d.capture_id`,
    { jobId },
  );

describe('a child of a search with a webhook', () => {
  it.each(['completed', 'partial', 'failed', 'canceled', 'expired'] as const)(
    'that ends as %s has one delivery, of what GET shows, while its sibling has none yet',
    async (state) => {
      const { jobId, children } = await acceptTwo();
      const [captureId = ''] = children;
      await database.db.inTransaction((sql) => endCaptures(sql, systemClock, jobId, [ending(captureId, state)]));
      // Ending it again, as a late lane would, adds nothing.
      await database.db.inTransaction((sql) => endCaptures(sql, systemClock, jobId, [ending(captureId, 'failed')]));
      const rows = await deliveriesOf(jobId);
      expect(rows).toMatchObject([{ captureId, type: `job.${state}`, state: 'pending' }]);
      expect(rows[0]?.secret).toBe(rows[0]?.sealed);
      const child = await readChild(database.db, accountId, captureId, false);
      if (!('ended' in child)) throw new Error('the child has not ended');
      expect(JSON.parse(rows[0]?.body ?? '')).toEqual({
        id: expect.stringMatching(/^evt_/),
        type: `job.${state}`,
        createdAt: child.ended.job.completedAt,
        job: { id: captureId, parentId: jobId, surface: 'engine_news', region: 'GLOBAL', status: state },
        result: child.ended,
        credits: child.ended.credits,
      });
    },
  );

  it('has its delivery in the transaction that ends it: both happen or neither', async () => {
    const { jobId, children } = await acceptTwo();
    const [captureId = ''] = children;
    await expect(
      database.db.inTransaction(async (sql) => {
        await endCaptures(sql, systemClock, jobId, [ending(captureId, 'completed')]);
        throw new Error('the power went out');
      }),
    ).rejects.toThrow('the power went out');
    expect(await deliveriesOf(jobId)).toEqual([]);
    expect(await readChild(database.db, accountId, captureId, false)).toHaveProperty('open');
  });

  it('does not end when its delivery cannot be stored', async () => {
    const { jobId, children } = await acceptTwo();
    const [captureId = ''] = children;
    await database.db.system.raw('ALTER TABLE webhook_deliveries ADD CONSTRAINT no_room CHECK (false) NOT VALID');
    try {
      await expect(
        database.db.inTransaction((sql) => endCaptures(sql, systemClock, jobId, [ending(captureId, 'completed')])),
      ).rejects.toThrow('no_room');
    } finally {
      await database.db.system.raw('ALTER TABLE webhook_deliveries DROP CONSTRAINT no_room');
    }
    expect(await readChild(database.db, accountId, captureId, false)).toHaveProperty('open');
  });

  it('has none without a webhook', async () => {
    const { jobId, children } = await accept(database.db, accountId, { surfaces: ['engine_news'] });
    await database.db.inTransaction((sql) =>
      endCaptures(sql, systemClock, jobId, [ending(children[0] ?? '', 'completed')]),
    );
    expect(await deliveriesOf(jobId)).toEqual([]);
  });
});
