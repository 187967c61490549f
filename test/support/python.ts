import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureProgram, findProgram, runCommand, type Machine, type Program } from '../../pkg/runtime/index.ts';

const PYTHON: Program = {
  title: 'Python',
  names: ['python3'],
  packages: { 'apt-get': ['python3-venv'], apk: ['python3'], dnf: ['python3'], brew: ['python'] },
};

const ENVIRONMENTS = fileURLToPath(new URL('../../.local/python', import.meta.url));
const LOOK_TIMEOUT_MS = 30_000;
const SYSTEM_INSTALL_TIMEOUT_MS = 10 * 60_000;
const CREATE_TIMEOUT_MS = 120_000;
const INSTALL_TIMEOUT_MS = 300_000;

export type PythonSoftware = {
  name: string;
  version: string;
  /** What pip is to install beside it. */
  also?: string[];
};

/**
 * The folder of the commands of a program from PyPI, in a virtual environment of its own below `.local/python`. Made
 * once, which needs the network, and used again after that. Not for two callers of the same program at a time.
 */
export async function installPython({ name, version, also = [] }: PythonSoftware): Promise<string> {
  const dir = join(ENVIRONMENTS, `${name}-${version}`);
  const bin = join(dir, 'bin');
  if (await isUsable(dir)) return bin;
  await rm(dir, { recursive: true, force: true });
  await mkdir(ENVIRONMENTS, { recursive: true });
  await runCommand(await findPython(), ['-m', 'venv', dir], { timeoutMs: CREATE_TIMEOUT_MS });
  const flags = ['--quiet', '--no-input', '--disable-pip-version-check'];
  await runCommand(join(bin, 'pip'), ['install', ...flags, `${name}==${version}`, ...also], {
    timeoutMs: INSTALL_TIMEOUT_MS,
  });
  // Last, so that an installation that was broken off is made anew.
  await writeFile(readyFile(dir), '');
  return bin;
}

function readyFile(dir: string): string {
  return join(dir, 'ready');
}

/** False also when the Python that it was made with is gone: the environment only links to it. */
async function isUsable(dir: string): Promise<boolean> {
  try {
    const look = `open(${JSON.stringify(readyFile(dir))})`;
    await runCommand(join(dir, 'bin', 'python'), ['-c', look], { timeoutMs: LOOK_TIMEOUT_MS });
    return true;
  } catch {
    return false;
  }
}

/** The path of `python3`, installed where that is allowed: a guide for receivers that is not run is not tested. */
export function ensurePython(machine: Machine): Promise<string> {
  return ensureProgram(PYTHON, machine);
}

async function findPython(): Promise<string> {
  const machine: Machine = {
    path: process.env['PATH'] ?? '',
    isRoot: process.getuid?.() === 0,
    say: (line) => void process.stderr.write(`${line}\n`),
  };
  const python = await ensurePython(machine);
  if (!(await canMakeEnvironments(python))) await addVenv(machine);
  return python;
}

async function canMakeEnvironments(python: string): Promise<boolean> {
  try {
    await runCommand(python, ['-c', 'import ensurepip, venv'], { timeoutMs: LOOK_TIMEOUT_MS });
    return true;
  } catch {
    return false;
  }
}

/** Debian splits Python: its `python3` alone can make no environment. */
async function addVenv({ path, isRoot, say }: Machine): Promise<void> {
  const apt = await findProgram(['apt-get'], path);
  if (apt === undefined || !isRoot) {
    throw new Error('Python can make no virtual environments. Type: sudo apt-get install -y python3-venv');
  }
  say('Installing python3-venv');
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, timeoutMs: SYSTEM_INSTALL_TIMEOUT_MS };
  await runCommand(apt, ['-q', 'update'], options);
  await runCommand(apt, ['-q', 'install', '-y', '--no-install-recommends', 'python3-venv'], options);
}
