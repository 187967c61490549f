import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../../test/support/poll.ts';
import { startGuard, type Guard } from './servers/guard.ts';
import { isRunning } from './servers/leftovers.ts';
import { startService } from './service.ts';

describe('a process that the launcher keeps alive', () => {
  let dir = '';
  let guard: Guard;
  const said: string[] = [];
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'service-'));
    guard = startGuard();
    said.length = 0;
  });
  afterEach(async () => {
    await guard.close();
    await rm(dir, { recursive: true });
  });

  async function start(script: string, signal = new AbortController().signal) {
    const file = join(dir, 'service.mjs');
    await writeFile(file, script);
    return startService({
      child: {
        name: 'thing',
        command: process.execPath,
        args: [file],
        cwd: dir,
        env: process.env,
        logFile: join(dir, 'log'),
        stopSignal: 'SIGTERM',
        stopTimeoutMs: 300,
        channel: true,
        guard,
      },
      isReady: async () => (await readPid()) !== undefined,
      readyTimeoutMs: 10_000,
      backoffMs: 20,
      maxBackoffMs: 1_000,
      say: (line) => said.push(line),
      signal,
    });
  }
  const readPid = async () => Number(await readFile(join(dir, 'pid'), 'utf8').catch(() => '')) || undefined;
  const stays = `import { writeFileSync } from 'node:fs';
    writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000);`;

  it('is started again when it dies, with a line that says so, and not after it was stopped', async () => {
    const service = await start(stays);
    const first = Number(await readPid());
    process.kill(first, 'SIGKILL');
    const changedPid = async () => (await readPid()) !== first && (await readPid());
    const second = await until(changedPid, { timeoutMs: 10_000, what: 'the second process' });
    expect(said).toEqual([expect.stringMatching(/^thing ended \(signal SIGKILL\); starting it again in 0.02 s/)]);
    await service.stop();
    expect(await isRunning(second, 'service.mjs')).toBe(false);
    expect(said).toHaveLength(1);
  });

  it('is killed when it does not stop by itself', async () => {
    const service = await start(`process.on('SIGTERM', () => {}); ${stays}`);
    const pid = Number(await readPid());
    await service.stop();
    expect(await isRunning(pid, 'service.mjs')).toBe(false);
  });

  it('that never comes up fails the start with the end of its log', async () => {
    await expect(start(`console.error('the reason'); process.exit(3)`)).rejects.toThrow(
      /thing did not start: exit code 3.*\nthe reason/,
    );
  });

  it('is stopped when the start is given up', async () => {
    const giveUp = new AbortController();
    const starting = start(
      `import { writeFileSync } from 'node:fs';
      writeFileSync('early', String(process.pid)); setInterval(() => {}, 1000);`,
      giveUp.signal,
    );
    const readEarly = async () => Number(await readFile(join(dir, 'early'), 'utf8').catch(() => '')) || undefined;
    const pid = await until(readEarly, { timeoutMs: 10_000, what: 'the process' });
    giveUp.abort();
    await expect(starting).rejects.toThrow('thing was stopped while it started');
    expect(await isRunning(pid, 'service.mjs')).toBe(false);
  });
});
