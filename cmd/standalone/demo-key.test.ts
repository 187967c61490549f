import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ensureDemoKey } from './demo-key.ts';
import { findFreePort } from './servers/ports.ts';

describe("the launcher's API key", () => {
  let service: Server;
  let baseUrl = '';
  const calls: string[] = [];
  beforeEach(async () => {
    calls.length = 0;
    const port = await findFreePort();
    baseUrl = `http://127.0.0.1:${port}`;
    // Only what is asked of the service: whether a key is known.
    service = createServer((request, response) => {
      response.writeHead(request.headers.authorization === 'Bearer sk_live_known' ? 200 : 401).end();
    });
    await new Promise<void>((resolve) => service.listen(port, '127.0.0.1', resolve));
  });
  afterEach(() => new Promise((resolve) => service.close(resolve)));

  const runScs =
    (emailIsTaken: boolean) =>
    (args: readonly string[]): Promise<unknown> => {
      calls.push(args.join(' ').replace(/demo-[0-9a-f]{6}@/, 'demo-HEX@'));
      if (emailIsTaken && args.includes('demo@localhost')) return Promise.reject(new Error('taken'));
      return Promise.resolve(
        args[0] === 'account' ? { accountId: 'acct_new' } : { keyId: 'key_1', key: 'sk_live_new' },
      );
    };

  it('of the last start is used again while the service knows it', async () => {
    const saved = { accountId: 'acct_old', key: 'sk_live_known' };
    expect(await ensureDemoKey({ saved, baseUrl, runScs: runScs(false) })).toEqual(saved);
    expect(calls).toEqual([]);
  });

  it.each([
    { when: 'at the first start', saved: {} },
    { when: 'when the service does not know the saved one', saved: { accountId: 'acct_old', key: 'sk_live_lost' } },
  ])('is made with its account $when', async ({ saved }) => {
    const made = await ensureDemoKey({ saved, baseUrl, runScs: runScs(false) });
    expect(made).toEqual({ accountId: 'acct_new', key: 'sk_live_new' });
    expect(calls).toEqual([
      'account create --name demo --email demo@localhost --json',
      'key create --account acct_new --json',
    ]);
  });

  it('is made with another address when an interrupted start has used the first', async () => {
    await ensureDemoKey({ saved: {}, baseUrl, runScs: runScs(true) });
    expect(calls[1]).toBe('account create --name demo --email demo-HEX@localhost --json');
  });

  it('is not taken from an answer that holds none', async () => {
    const attempt = ensureDemoKey({ saved: {}, baseUrl, runScs: () => Promise.resolve({ accountId: 7 }) });
    await expect(attempt).rejects.toThrow('scs printed no accountId');
  });
});
