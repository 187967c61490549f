import { readFile, rm, writeFile } from 'node:fs/promises';
import { hasCode } from './servers/errors.ts';
import { isRunning } from './servers/leftovers.ts';

type Holder = { pid: number; address: string };

/**
 * Makes sure that only one launcher works on a data folder. Resolves to the release; throws one clear line when
 * another one runs. A lock whose holder is gone, however it ended, is taken over.
 */
export async function takeLock(options: {
  path: string;
  pid: number;
  address: string;
  /** Part of the holder's command line: its number alone may meanwhile belong to another program. */
  words: string;
}): Promise<() => Promise<void>> {
  const { path, pid, address, words } = options;
  if (await write(path, { pid, address })) return () => rm(path, { force: true });
  const holder = await read(path);
  if (holder !== undefined && holder.pid !== pid && (await isRunning(holder.pid, words))) {
    throw new Error(
      `Already running at ${holder.address} (process ${holder.pid}). Stop it there with Ctrl-C, or type: kill ${holder.pid}`,
    );
  }
  await rm(path, { force: true });
  if (await write(path, { pid, address })) return () => rm(path, { force: true });
  throw new Error(`Another start is at work in this folder (see ${path}).`);
}

async function write(path: string, holder: Holder): Promise<boolean> {
  try {
    await writeFile(path, `${holder.pid} ${holder.address}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

async function read(path: string): Promise<Holder | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const [pidText, address] = text.trim().split(' ');
  const pid = Number(pidText);
  return Number.isInteger(pid) && pid > 1 && address !== undefined ? { pid, address } : undefined;
}
