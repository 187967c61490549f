import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { takeLock } from './lock.ts';

describe('the lock of the data folder', () => {
  let dir = '';
  let path = '';
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'lock-'));
    path = join(dir, 'run.pid');
  });
  afterEach(async () => rm(dir, { recursive: true }));

  const take = (pid: number, words = 'launcher-under-test') =>
    takeLock({ path, pid, address: 'http://127.0.0.1:8080', words });

  it('is held until it is released', async () => {
    const release = await take(process.pid);
    expect(await readFile(path, 'utf8')).toBe(`${process.pid} http://127.0.0.1:8080\n`);
    await release();
    await expect(readFile(path)).rejects.toThrow('ENOENT');
  });

  it('names the address and the process of the launcher that holds it', async () => {
    const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', 'launcher-under-test']);
    try {
      await once(holder, 'spawn');
      const pid = Number(holder.pid);
      await take(pid);
      await expect(take(process.pid)).rejects.toThrow(`Already running at http://127.0.0.1:8080 (process ${pid})`);
    } finally {
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    }
  });

  it.each([
    { holder: 'a process that is gone', text: '2147483646 http://127.0.0.1:8080\n' },
    { holder: 'another program that got the number since', text: `${process.ppid} http://127.0.0.1:8080\n` },
    { holder: 'a write that was cut off', text: '' },
  ])('is taken over from $holder', async ({ text }) => {
    await writeFile(path, text);
    await take(process.pid);
    expect(await readFile(path, 'utf8')).toBe(`${process.pid} http://127.0.0.1:8080\n`);
  });
});
