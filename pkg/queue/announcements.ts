import { Queue } from 'bullmq';
import type { Logger } from 'pino';
import { withDeadline } from '../runtime/index.ts';
import { connectForCommands } from './connection.ts';

/** What is sent through Redis: which capture waits, and the fence under which it may be claimed. Never any text. */
export type Announcement = {
  captureId: string;
  surface: string;
  fence: number;
  /** Somebody waits at the other end of a connection: it goes before what may wait in the queue. */
  synchronous: boolean;
};

export type Announcer = {
  /** Tells the lanes. Rejects within four seconds when Redis is away: the caller leaves it to the dispatcher. */
  announce(announcements: readonly Announcement[]): Promise<void>;
  /** True when Redis answers a ping. */
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
};

// Twice this is the longest that an announcement takes: it may wait for the one before it.
const SEND_TIMEOUT_MS = 2_000;

export function createAnnouncer(options: { url: string; log: Logger }): Announcer {
  const redis = connectForCommands(options);
  const queues = new Map<string, Queue>();

  function queueOf(surface: string): Queue {
    const known = queues.get(surface);
    if (known !== undefined) return known;
    // skipMetasUpdate: the first command of a queue must not hang on a Redis that is away.
    const queue = new Queue(queueName(surface), { connection: redis, skipMetasUpdate: true });
    queue.on('error', (error) => options.log.warn({ err: error }, 'Queue error'));
    queues.set(surface, queue);
    return queue;
  }

  async function send(announcements: readonly Announcement[]): Promise<void> {
    if (redis.status !== 'ready') throw new Error(`Redis is not connected (${redis.status})`);
    const bySurface = Map.groupBy(announcements, ({ surface }) => surface);
    await Promise.all(
      [...bySurface].map(([surface, group]) =>
        queueOf(surface).addBulk(
          group.map((data) => ({
            name: 'capture',
            data,
            // The same waiting capture announced twice is one job: less noise. Nothing relies on it, as a lane claims in
            // Postgres. Retries live there too.
            opts: {
              jobId: nameJob(data),
              lifo: data.synchronous,
              attempts: 1,
              removeOnComplete: true,
              removeOnFail: true,
            },
          })),
        ),
      ),
    );
  }

  // What is announced while Redis is busy with the last announcements goes together, in one round trip.
  let gathered: Announcement[] = [];
  let gathering: Promise<void> | null = null;
  let sending: Promise<unknown> = Promise.resolve();

  function announce(announcements: readonly Announcement[]): Promise<void> {
    gathered.push(...announcements);
    gathering ??= sending.then(() => {
      const together = gathered;
      gathered = [];
      gathering = null;
      const sent = withDeadline(send(together), SEND_TIMEOUT_MS, 'announcing');
      sending = sent.catch(() => undefined);
      return sent;
    });
    return gathering;
  }

  return {
    announce: (announcements) => (announcements.length === 0 ? Promise.resolve() : announce(announcements)),
    ping: async (timeoutMs) => {
      await withDeadline(redis.ping(), timeoutMs, 'pinging Redis');
    },
    close: async () => {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      redis.disconnect();
    },
  };
}

/** BullMQ refuses a name with colons, which stand in the region key of a city; a slash stands in no capture id. */
function nameJob({ captureId, fence }: Announcement): string {
  return `${captureId.replaceAll(':', '/')}#${fence}`;
}

/** A colon would split the key names that BullMQ makes of it. */
export function queueName(surface: string): string {
  return `captures-${surface}`;
}
