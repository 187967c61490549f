import { readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';

/** What this process may use: of its pod where it runs in one, of the machine otherwise. */
export type PodLimits = { memoryMiB: number; cpus: number };

const MIB = 1024 * 1024;

/**
 * The limits of our control group, version 1 or 2, and of every group above it: the strictest counts. Node's own
 * `constrainedMemory` and `availableParallelism` were measured (24.21) to miss the CPU quota of version 1 and the groups
 * above in version 2. `root` is where /proc and /sys are found.
 */
export async function readPodLimits(root = '/'): Promise<PodLimits> {
  const groups = parseGroups(await readOrNull(join(root, 'proc/self/cgroup')));
  const limits: Partial<PodLimits>[] = [{ memoryMiB: totalmem() / MIB, cpus: availableParallelism() }];
  for (const { controllers, path } of groups) {
    for (const folder of foldersOf(root, controllers, path)) {
      limits.push(controllers.length === 0 ? await readVersion2(folder) : await readVersion1(folder));
    }
  }
  const least = (values: (number | undefined)[]): number => Math.min(...values.filter((value) => value !== undefined));
  return { memoryMiB: least(limits.map((one) => one.memoryMiB)), cpus: least(limits.map((one) => one.cpus)) };
}

type Group = { controllers: string[]; path: string };

/** Lines are `4:memory:/path`, and `0::/path` for version 2. */
function parseGroups(text: string | null): Group[] {
  return (text ?? '')
    .split('\n')
    .map((line) => /^\d+:([^:]*):(\/.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, names = '', path = '/']) => ({ controllers: names === '' ? [] : names.split(','), path }))
    .filter(({ controllers }) => controllers.length === 0 || controllers.some((name) => /^(memory|cpu)$/.test(name)));
}

/** The group's folder and those above it. In a container that sees only its own group, the last one is the group's. */
function foldersOf(root: string, controllers: string[], path: string): string[] {
  const mount = join(root, 'sys/fs/cgroup', controllers.join(','));
  const parts = path.split('/').filter((part) => part !== '' && part !== '..');
  return parts.map((_, index) => join(mount, ...parts.slice(0, index + 1))).concat(mount);
}

async function readVersion2(folder: string): Promise<Partial<PodLimits>> {
  const memory = toNumber(await readOrNull(join(folder, 'memory.max')));
  const [quota, period] = ((await readOrNull(join(folder, 'cpu.max'))) ?? '').split(' ').map(toNumber);
  return limit(memory, quota, period);
}

async function readVersion1(folder: string): Promise<Partial<PodLimits>> {
  const memory = toNumber(await readOrNull(join(folder, 'memory.limit_in_bytes')));
  const quota = toNumber(await readOrNull(join(folder, 'cpu.cfs_quota_us')));
  const period = toNumber(await readOrNull(join(folder, 'cpu.cfs_period_us')));
  return limit(memory, quota, period);
}

function limit(bytes: number | undefined, quota: number | undefined, period: number | undefined): Partial<PodLimits> {
  return {
    ...(bytes === undefined ? {} : { memoryMiB: bytes / MIB }),
    ...(quota === undefined || period === undefined ? {} : { cpus: quota / period }),
  };
}

/** No limit reads as `max`, as -1, or as a number that is larger than any machine (which the machine's own undercuts). */
function toNumber(text: string | null): number | undefined {
  const value = Number((text ?? 'max').trim());
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // No such controller, or another system: no limit that we could know of.
    return null;
  }
}
