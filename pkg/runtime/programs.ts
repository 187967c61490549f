import { constants } from 'node:fs';
import { access, rm, stat, writeFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { runCommand } from './command.ts';

/** The package managers that we know how to ask without a question to the user. */
const MANAGERS = ['apt-get', 'apk', 'dnf', 'brew'] as const;
type Manager = (typeof MANAGERS)[number];

export type Program = {
  /** For people: `Redis`. */
  title: string;
  /** Names on PATH, or absolute paths; the first that is found is used. */
  names: readonly string[];
  /** By manager, the packages that hold it: the first that can be installed is taken. */
  packages: Readonly<Partial<Record<Manager, readonly string[]>>>;
  /** The variable by which a user may name the program, for the message when it can't be had. */
  variable?: string;
  /** System service that the package brings and that must not run beside ours. */
  service?: string;
};

export type Machine = {
  /** As in the variable PATH. */
  path: string;
  isRoot: boolean;
  /** Told before anything is installed. */
  say: (line: string) => void;
};

const INSTALL_TIMEOUT_MS = 15 * 60_000;
const POLICY_FILE = '/usr/sbin/policy-rc.d';

/** Full path of the first of `names` that is an executable file, or undefined. */
export async function findProgram(names: readonly string[], path: string): Promise<string | undefined> {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  for (const name of names) {
    const candidates = isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name));
    for (const candidate of candidates) {
      if (await isExecutableFile(candidate)) return candidate;
    }
  }
  return undefined;
}

async function isExecutableFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * Full path of a program: found on PATH, else installed by the system's package manager where that needs no question
 * (root, or Homebrew as a normal user). Otherwise throws one line that says what to type (design, "First use").
 */
export async function ensureProgram(program: Program, machine: Machine): Promise<string> {
  const found = await findProgram(program.names, machine.path);
  if (found !== undefined) return found;

  const manager = await findManager(program, machine.path);
  if (manager === undefined)
    throw new Error(
      `${program.title} is missing. Install it (one of: ${program.names.join(', ')})${orVariable(program)}.`,
    );
  const mayInstall = manager.name === 'brew' ? !machine.isRoot : machine.isRoot;
  const byHand = `${manager.name === 'brew' ? '' : 'sudo '}${manager.name} ${installWords(manager.name)} ${manager.packages[0]}`;
  if (!mayInstall) throw new Error(`${program.title} is missing. Type: ${byHand}${orVariable(program)}`);

  const problems: string[] = [];
  for (const name of manager.packages) {
    machine.say(`${program.title} is missing: installing ${name} with ${manager.name}`);
    try {
      await install(manager, name, program, machine);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
      continue;
    }
    const installed = await findProgram(program.names, machine.path);
    if (installed !== undefined) return installed;
    problems.push(`${name} was installed but brought none of ${program.names.join(', ')}`);
  }
  throw new Error(
    `${program.title} is missing and could not be installed. Type: ${byHand}${orVariable(program)}\n${problems.join('\n')}`,
  );
}

function orVariable(program: Program): string {
  return program.variable === undefined ? '' : `, or set ${program.variable} to its path`;
}

type FoundManager = { name: Manager; path: string; packages: readonly [string, ...string[]] };

async function findManager(program: Program, path: string): Promise<FoundManager | undefined> {
  for (const name of MANAGERS) {
    const [first, ...others] = program.packages[name] ?? [];
    if (first === undefined) continue;
    const managerPath = await findProgram([name], path);
    if (managerPath !== undefined) return { name, path: managerPath, packages: [first, ...others] };
  }
  return undefined;
}

function installWords(manager: Manager): string {
  return { 'apt-get': 'install -y --no-install-recommends', apk: 'add', dnf: 'install -y', brew: 'install' }[manager];
}

async function install(manager: FoundManager, name: string, program: Program, machine: Machine): Promise<void> {
  const env = { ...process.env, PATH: machine.path, DEBIAN_FRONTEND: 'noninteractive' };
  const options = { env, timeoutMs: INSTALL_TIMEOUT_MS };
  const words = [...installWords(manager.name).split(' '), name];
  if (manager.name !== 'apt-get') {
    await runCommand(manager.path, words, options);
    return;
  }
  // Another apt may be at work on a fresh machine: wait for it.
  const patient = ['-o', 'DPkg::Lock::Timeout=300', '-q'];
  await runCommand(manager.path, [...patient, 'update'], options);
  await withoutServiceStart(async () => {
    await runCommand(manager.path, [...patient, ...words], options);
  });
  await disableService(program, machine);
}

/**
 * Debian starts a package's service when it is installed, and a Redis on the default port that nobody asked for would
 * stay behind. `policy-rc.d` is Debian's way to say no; one that is there already is left alone.
 */
async function withoutServiceStart(work: () => Promise<void>): Promise<void> {
  try {
    await writeFile(POLICY_FILE, '#!/bin/sh\nexit 101\n', { flag: 'wx', mode: 0o755 });
  } catch {
    return work();
  }
  try {
    await work();
  } finally {
    await rm(POLICY_FILE, { force: true });
  }
}

/** The package also enables its service for the next boot. */
async function disableService(program: Program, machine: Machine): Promise<void> {
  const systemdRuns = await stat('/run/systemd/system').then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (program.service === undefined || !systemdRuns) return;
  try {
    await runCommand('systemctl', ['disable', '--now', program.service], { timeoutMs: 60_000 });
  } catch (error) {
    machine.say(
      `Could not disable the system's own ${program.service}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
