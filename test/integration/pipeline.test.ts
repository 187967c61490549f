import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openDatabase, query, type Database, type Reader } from '../../pkg/postgres/index.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';

let test: TestDatabase;
/** One connection only: what a transaction left open would be met by the next. */
let narrow: Database;
beforeAll(async () => {
  test = await openTestDatabase();
  narrow = openDatabase({ url: test.url, poolSize: 1, applicationName: 'test' });
  await query(test.db.system, 'CREATE TABLE notes (id integer PRIMARY KEY)');
});
afterAll(async () => {
  await narrow.close();
  await test.close();
});
beforeEach(() => query(test.db.system, 'DELETE FROM notes'));

const write = (sql: Reader, id: number) => query(sql, 'INSERT INTO notes VALUES (:id)', { id });
const read = async (): Promise<number[]> =>
  (await query<{ id: number }>(test.db.system, 'SELECT id FROM notes ORDER BY id')).map(({ id }) => id);

describe('a pipelined transaction', () => {
  it('keeps what all of its statements wrote, and gives each its own answer', async () => {
    const answers = await narrow.inPipeline(async (sql) => {
      await Promise.all([1, 2, 3].map((id) => write(sql, id)));
      return Promise.all([1, 2, 9].map((id) => query(sql, 'SELECT id FROM notes WHERE id = :id', { id })));
    });
    expect(answers).toEqual([[{ id: 1 }], [{ id: 2 }], []]);
    expect(await read()).toEqual([1, 2, 3]);
  });

  it.each<[string, (sql: Reader) => Promise<unknown>, string]>([
    ['its work throws', (sql) => write(sql, 1).then(() => Promise.reject(new Error('on purpose'))), 'on purpose'],
    ['its work throws before it has heard', (sql) => (void write(sql, 1), Promise.reject(new Error('early'))), 'early'],
    ['one of its statements fails', (sql) => Promise.all([1, 2, 1, 3].map((id) => write(sql, id))), 'duplicate key'],
    [
      'its work does not mind that one failed',
      (sql) => Promise.allSettled([1, 1].map((id) => write(sql, id))),
      'a statement of the transaction failed',
    ],
  ])('keeps nothing when %s, and the next one is not touched', async (_, work, message) => {
    // More often than the pool has connections: one that is kept would leave the next transaction waiting.
    for (let round = 0; round < 3; round += 1) await expect(narrow.inPipeline(work)).rejects.toThrow(message);
    await narrow.inPipeline((sql) => write(sql, 7));
    expect(await read()).toEqual([7]);
  });

  it('is over for whoever still holds it', async () => {
    const held = await narrow.inPipeline((sql) => Promise.resolve({ sql }));
    await expect(write(held.sql, 1)).rejects.toThrow('after its work had ended');
    expect(await read()).toEqual([]);
  });

  it('that loses its connection keeps nothing, and the next one gets another', async () => {
    const cut = narrow.inPipeline(async (sql) => {
      await write(sql, 1);
      await query(sql, 'SELECT pg_terminate_backend(pg_backend_pid())');
    });
    await expect(cut).rejects.toThrow();
    await narrow.inPipeline((sql) => write(sql, 2));
    expect(await read()).toEqual([2]);
  });

  it('leaves no plan that is made once to the transactions after it', async () => {
    const mode = async (sql: Reader) => (await query(sql, 'SHOW plan_cache_mode'))[0];
    expect(await narrow.inPipeline(mode)).toEqual({ plan_cache_mode: 'force_generic_plan' });
    expect(await narrow.inTransaction(mode)).toEqual({ plan_cache_mode: 'force_custom_plan' });
  });
});
