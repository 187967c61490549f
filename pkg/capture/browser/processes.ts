import { readdir, readFile } from 'node:fs/promises';
import { pause } from '../../runtime/index.ts';

const PAGE_KIB = 4;

/** A process and all its descendants, itself first. Only itself where the system has no /proc. */
export async function listTree(rootPid: number): Promise<number[]> {
  const children = new Map<number, number[]>();
  for (const pid of await listPids()) {
    const parent = (await readStat(pid))?.parentPid;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const tree = [rootPid];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** The process group of a process: Playwright starts each browser as the leader of its own. */
export async function groupOf(pid: number): Promise<number> {
  return (await readStat(pid))?.groupId ?? pid;
}

/** Memory of a process tree in MiB, pages that several share counted once; null where the system does not tell. */
export async function measureTreeMiB(rootPid: number): Promise<number | null> {
  const sizes = await Promise.all((await listTree(rootPid)).map(readKiB));
  const known = sizes.filter((size) => size !== null);
  return known.length === 0 ? null : known.reduce((sum, size) => sum + size, 0) / 1024;
}

/**
 * Kills a process group and `members`, whatever group they are in by now, and returns when all are gone, or after
 * `timeoutMs` with `false`. A process that is gone already is no error.
 */
export async function killProcesses(groupId: number, members: readonly number[], timeoutMs: number): Promise<boolean> {
  send(-groupId);
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const running: number[] = [];
    for (const pid of members) if (await isRunning(pid)) running.push(pid);
    if (running.length === 0) return true;
    for (const pid of running) send(pid);
    if (performance.now() > endMs) return false;
    await pause(10);
  }
}

function send(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Where nobody reaps, a killed process stays in the table as a zombie: it holds nothing and does not run any more. */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
  const state = (await readStat(pid))?.state;
  return state !== 'Z' && state !== 'X';
}

function isGone(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ESRCH';
}

async function listPids(): Promise<number[]> {
  return (await readNamesOrNone('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

async function readNamesOrNone(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}

async function readStat(pid: number): Promise<{ state: string; parentPid: number; groupId: number } | null> {
  const text = await readOrNull(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The name stands in parentheses and may hold anything, so the fields are counted from the last one.
  const [state = '', parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state, parentPid: Number(parent), groupId: Number(group) };
}

/** The proportional share where it may be read; a sandboxed renderer hides it, then what it alone holds. */
async function readKiB(pid: number): Promise<number | null> {
  const rollup = await readOrNull(`/proc/${pid}/smaps_rollup`);
  const share = /^Pss:\s+(\d+) kB/m.exec(rollup ?? '')?.[1];
  if (share !== undefined) return Number(share);
  const [, resident, shared] = ((await readOrNull(`/proc/${pid}/statm`)) ?? '').split(' ').map(Number);
  return resident === undefined || shared === undefined ? null : (resident - shared) * PAGE_KIB;
}

/** Processes end while they are looked at, and other systems have no such files: both read as nothing. */
async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return null;
  }
}

/** The command line of each process that may be read. */
export async function listCommandLines(): Promise<string[]> {
  const lines = await Promise.all((await listPids()).map((pid) => readOrNull(`/proc/${pid}/cmdline`)));
  return lines.filter((line) => line !== null).map((line) => line.replaceAll('\0', ' '));
}

export async function readCommandLine(pid: number): Promise<string[]> {
  return ((await readOrNull(`/proc/${pid}/cmdline`)) ?? '').split('\0');
}
