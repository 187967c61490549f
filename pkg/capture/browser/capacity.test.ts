import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { planCapacity } from './capacity.ts';
import { readPodLimits } from './pod-limits.ts';

const MACHINE = { memoryMiB: totalmem() / 1024 / 1024, cpus: availableParallelism() };
const NONE_V1 = '9223372036854771712';

describe('the limits of a pod', () => {
  it.each<[string, Record<string, string>, Partial<typeof MACHINE>]>([
    ['are the machine where there are no groups', {}, {}],
    [
      'are those of a container that sees only its own group (version 2)',
      {
        'proc/self/cgroup': '0::/\n',
        'sys/fs/cgroup/memory.max': '1073741824\n',
        'sys/fs/cgroup/cpu.max': '50000 100000\n',
      },
      { memoryMiB: 1024, cpus: 0.5 },
    ],
    [
      'are the strictest of the group and those above (version 2)',
      {
        'proc/self/cgroup': '0::/kubepods/pod1/app\n',
        'sys/fs/cgroup/kubepods/pod1/app/memory.max': 'max\n',
        'sys/fs/cgroup/kubepods/pod1/app/cpu.max': '150000 100000\n',
        'sys/fs/cgroup/kubepods/pod1/memory.max': '536870912\n',
        'sys/fs/cgroup/kubepods/pod1/cpu.max': '100000 100000\n',
        'sys/fs/cgroup/kubepods/memory.max': '1073741824\n',
      },
      { memoryMiB: 512, cpus: 1 },
    ],
    [
      'are unlimited in version 2',
      { 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/memory.max': 'max\n', 'sys/fs/cgroup/cpu.max': 'max 100000\n' },
      {},
    ],
    [
      'are those of version 1, its path seen from outside',
      {
        'proc/self/cgroup': '9:name=systemd:/x\n4:memory:/docker/a\n3:cpu,cpuacct:/docker/a\n0::/\n',
        'sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes': '805306368\n',
        'sys/fs/cgroup/memory/memory.limit_in_bytes': `${NONE_V1}\n`,
        'sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us': '70000\n',
        'sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us': '100000\n',
      },
      { memoryMiB: 768, cpus: 0.7 },
    ],
    [
      'are those of version 1 in a container that sees only its own group',
      {
        'proc/self/cgroup': '4:memory:/docker/a\n3:cpu:/docker/a\n',
        'sys/fs/cgroup/memory/memory.limit_in_bytes': '805306368\n',
        'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '100000\n',
        'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      },
      { memoryMiB: 768, cpus: 1 },
    ],
    [
      'are unlimited in version 1',
      {
        'proc/self/cgroup': '4:memory:/\n3:cpu:/\n',
        'sys/fs/cgroup/memory/memory.limit_in_bytes': `${NONE_V1}\n`,
        'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
        'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      },
      {},
    ],
  ])('%s', async (_, files, limits) => {
    const root = await mkdtemp(join(tmpdir(), 'cgroup-'));
    try {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), text);
      }
      expect(await readPodLimits(root)).toEqual({ ...MACHINE, ...limits });
    } finally {
      await rm(root, { recursive: true });
    }
  });
});

describe('the capacity of a pod', () => {
  it.each([
    { memoryMiB: 1024, cpus: 1, asked: 2, concurrency: 2, browserMiB: 614 },
    { memoryMiB: 768, cpus: 4, asked: 16, concurrency: 2, browserMiB: 461 },
    { memoryMiB: 8192, cpus: 2, asked: 16, concurrency: 4, browserMiB: 2048 },
    { memoryMiB: 8192, cpus: 0.5, asked: 16, concurrency: 1, browserMiB: 2048 },
    { memoryMiB: 8192, cpus: 0.25, asked: 16, concurrency: 1, browserMiB: 2048 },
    { memoryMiB: 8192, cpus: 1.5, asked: 16, concurrency: 3, browserMiB: 2048 },
    { memoryMiB: 256, cpus: 2, asked: 2, concurrency: 1, browserMiB: 154 },
    { memoryMiB: 65_536, cpus: 32, asked: 3, concurrency: 3, browserMiB: 2048 },
  ])('of $memoryMiB MiB and $cpus CPUs, asked for $asked pages, is $concurrency', (row) => {
    const asked = { concurrency: row.asked, memoryMiB: 2048 };
    expect(planCapacity({ memoryMiB: row.memoryMiB, cpus: row.cpus }, asked)).toEqual({
      concurrency: row.concurrency,
      memoryMiB: row.browserMiB,
    });
  });
});
