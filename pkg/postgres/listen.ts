import pg from 'pg';
import type { Logger } from 'pino';
import { pause, withDeadline } from '../runtime/index.ts';

export type Listener = { close(): Promise<void> };

/**
 * Calls `onNotice(channel, payload)` for each NOTIFY, on a connection of its own that is made anew whenever it is lost.
 * A notice can be missed while it is away, so that nobody may rely on it for more than being early.
 */
export function listen(
  options: { url: string; channels: string[]; log: Logger },
  onNotice: (channel: string, payload: string) => void,
): Listener {
  const stop = new AbortController();

  async function session(): Promise<void> {
    const client = new pg.Client({
      connectionString: options.url,
      application_name: 'listen',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    const lost = new Promise<void>((resolve) => {
      client.on('error', (error) => {
        options.log.warn({ err: error }, 'Lost the connection for notices');
        resolve();
      });
      client.on('end', resolve);
      stop.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    client.on('notification', (notice) => onNotice(notice.channel, notice.payload ?? ''));
    try {
      await client.connect();
      await client.query(options.channels.map((channel) => `LISTEN ${client.escapeIdentifier(channel)}`).join('; '));
      await lost;
    } finally {
      await withDeadline(client.end(), 2_000, 'closing the connection for notices').catch((error: unknown) =>
        options.log.warn({ err: error }, 'The connection for notices did not close'),
      );
    }
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        await session();
      } catch (error) {
        options.log.warn({ err: error }, 'Could not listen for notices');
      }
      await pause(1_000, stop.signal);
    }
  }
  const ended = run();
  return {
    close: async () => {
      stop.abort();
      await ended;
    },
  };
}
