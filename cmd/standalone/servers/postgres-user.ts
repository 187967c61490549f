import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { findProgram, runCommand } from '../../../pkg/runtime/index.ts';

/** How to start a Postgres program: Postgres refuses to run as root. */
export type RunAs = {
  /** Owner of the data and of the process; undefined is whoever we are. */
  owner: { uid: number; gid: number } | undefined;
  /** The command and arguments by which `program` is started. */
  command(program: string, args: readonly string[]): { command: string; args: string[]; uid?: number; gid?: number };
};

const USERS = ['postgres', 'nobody'] as const;

/**
 * Decides as whom Postgres runs. A normal user runs it himself. For root it is the owner of the data that is there,
 * else the user `postgres` or `nobody`; where that user may not enter the folders (a checkout below /root), he is given
 * the right to pass through them, and only to this process.
 */
export async function chooseRunAs(options: { programFile: string; dataDir: string; path: string }): Promise<RunAs> {
  if (process.getuid?.() !== 0) {
    return { owner: undefined, command: (program, args) => ({ command: program, args: [...args] }) };
  }
  const owner = (await ownerOf(options.dataDir)) ?? (await findUser());
  const closed = (await findClosedFolder(options.programFile)) ?? (await findClosedFolder(options.dataDir));
  if (closed === undefined) {
    return { owner, command: (program, args) => ({ command: program, args: [...args], ...owner }) };
  }
  const setpriv = await findProgram(['setpriv'], options.path);
  if (setpriv === undefined) {
    throw new Error(
      `Postgres can't run as root, and another user may not enter ${closed}. Move the project elsewhere, or run it as a normal user.`,
    );
  }
  // Without no_setuid_fixup access(2) would look with the real user's empty set, and Postgres asks access(2).
  const words = [
    '--reuid',
    String(owner.uid),
    '--regid',
    String(owner.gid),
    '--clear-groups',
    '--inh-caps',
    '+dac_override',
  ].concat(['--ambient-caps', '+dac_override', '--securebits', '+no_setuid_fixup']);
  return { owner, command: (program, args) => ({ command: setpriv, args: [...words, program, ...args] }) };
}

async function ownerOf(dataDir: string): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const { uid, gid } = await stat(dataDir);
    return uid === 0 ? undefined : { uid, gid };
  } catch {
    return undefined;
  }
}

async function findUser(): Promise<{ uid: number; gid: number }> {
  for (const name of USERS) {
    try {
      const [uid, gid] = await Promise.all(
        ['-u', '-g'].map(async (flag) => Number(await runCommand('id', [flag, name], { timeoutMs: 5_000 }))),
      );
      if (uid !== undefined && gid !== undefined && uid > 0) return { uid, gid };
    } catch {
      // No such user: try the next.
    }
  }
  throw new Error(
    `Postgres can't run as root, and this machine has none of the users ${USERS.join(', ')}. Run as a normal user.`,
  );
}

/** The outermost folder above `path` that other users may not pass through. */
async function findClosedFolder(path: string): Promise<string | undefined> {
  const parent = dirname(path);
  if (parent === path) return undefined;
  const above = await findClosedFolder(parent);
  if (above !== undefined) return above;
  const { mode } = await stat(parent);
  return (mode & 0o001) === 0 ? parent : undefined;
}
