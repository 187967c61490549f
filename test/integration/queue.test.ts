import { expect, it } from '@jest/globals';
import { createAnnouncer, subscribe, type Announcement } from '../../pkg/queue/index.ts';
import { connectForWork } from '../../pkg/queue/connection.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import { until } from '../support/poll.ts';
import { findEmptyRedis } from '../support/redis.ts';

const log = createLog('test', 'silent');
const announcement = (captureId: string, synchronous = false): Announcement => ({
  captureId,
  surface: 'engine_news',
  fence: 0,
  synchronous,
});

it('a capture that somebody waits for goes before a backlog, and what is announced together is one round', async () => {
  const url = await findEmptyRedis();
  const announcer = createAnnouncer({ url, log });
  const taken: string[] = [];
  try {
    await until(
      () =>
        announcer.ping(1_000).then(
          () => true,
          () => false,
        ),
      { timeoutMs: 10_000, what: 'Redis' },
    );
    const backlog = ['one.engine_news.us', 'two.engine_news.de:köln', 'three.engine_news.jp:東京:ja'];
    await Promise.all(backlog.map((id) => announcer.announce([announcement(id)])));
    await announcer.announce([announcement('now.engine_news.us', true)]);
    const lane = subscribe({ url, surface: 'engine_news', concurrency: 1, log }, ({ captureId }) => {
      taken.push(captureId);
      return Promise.resolve();
    });
    try {
      await until(() => Promise.resolve(taken.length === 4), { timeoutMs: 20_000, what: 'all are taken' });
    } finally {
      await lane.close();
    }
  } finally {
    await announcer.close();
  }
  expect(taken[0]).toBe('now.engine_news.us');
  expect(new Set(taken.slice(1))).toEqual(
    new Set(['one.engine_news.us', 'two.engine_news.de:köln', 'three.engine_news.jp:東京:ja']),
  );
}, 60_000);

it('nothing that was made of a worker connection connects again once it is closed', async () => {
  const connection = connectForWork({ url: await findEmptyRedis(), log });
  const copy = connection.redis.duplicate();
  await copy.ping();
  connection.close();
  await until(() => copy.status === 'end' && connection.redis.status === 'end', { timeoutMs: 10_000, what: 'the end' });
  await expect(copy.connect()).rejects.toThrow('closed');
  await expect(connection.redis.connect()).rejects.toThrow('closed');
});
