import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, runCommand } from '../../../pkg/runtime/index.ts';

const NAMES = ['kube-apiserver', 'etcd'] as const;
/** Of Kubernetes; the same as in go/kube-apiserver/go.mod. */
const VERSION = '1.34.4';
const DOWNLOAD_TIMEOUT_MS = 5 * 60_000;
const BUILD_TIMEOUT_MS = 40 * 60_000;

type Options = { env: NodeJS.ProcessEnv; say: (line: string) => void };

/**
 * The folder that holds kube-apiserver and etcd: KUBEBUILDER_ASSETS, else our cache, else what setup-envtest downloads,
 * else built from their Go modules into the cache (8 minutes on two cores, once). Throws one line that says what to do.
 */
export async function ensureKubePrograms({ env, say }: Options): Promise<string> {
  const named = env['KUBEBUILDER_ASSETS'];
  if (named !== undefined && named !== '') {
    if (await holdsAll(named)) return named;
    throw new Error(`KUBEBUILDER_ASSETS=${named} doesn't hold both ${NAMES.join(' and ')}`);
  }
  const cache = join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'search-capture', `kube-${VERSION}`);
  if (await holdsAll(cache)) return cache;

  const problems: string[] = [];
  for (const attempt of [download, build]) {
    try {
      const folder = await attempt({ env, say, cache });
      if (folder !== undefined) return folder;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  const advice = 'Install Go 1.24 or newer, or setup-envtest, or set KUBEBUILDER_ASSETS to a folder that holds both';
  throw new Error([`${NAMES.join(' and ')} are missing. ${advice}.`, ...problems].join('\n'));
}

async function holdsAll(folder: string): Promise<boolean> {
  const found = await Promise.all(NAMES.map((name) => findProgram([join(folder, name)], '')));
  return found.every((path) => path !== undefined);
}

type Attempt = Options & { cache: string };

async function download({ env, say }: Attempt): Promise<string | undefined> {
  const tool = await findProgram(['setup-envtest'], env['PATH'] ?? '');
  if (tool === undefined) return undefined;
  say(`${NAMES.join(' and ')} are missing: setup-envtest downloads them`);
  const args = ['use', `${VERSION.split('.').slice(0, 2).join('.')}.x`, '--print', 'path'];
  const folder = (await runCommand(tool, args, { timeoutMs: DOWNLOAD_TIMEOUT_MS })).trim();
  return (await holdsAll(folder)) ? folder : undefined;
}

async function build({ env, say, cache }: Attempt): Promise<string | undefined> {
  const go = await findProgram(['go'], env['PATH'] ?? '');
  if (go === undefined) return undefined;
  await mkdir(cache, { recursive: true });
  // etcd first: where Go modules can't be reached, that shows soonest.
  for (const name of [...NAMES].reverse()) {
    say(`${name} is missing: building it from its Go module, once; this takes some minutes`);
    const made = join(cache, `${name}.${process.pid}`);
    const cwd = fileURLToPath(new URL(`go/${name}`, import.meta.url));
    const args = ['build', '-trimpath', '-mod=readonly', '-ldflags', flagsOf(name), '-o', made, '.'];
    try {
      await runCommand(go, args, { cwd, env: { ...env, CGO_ENABLED: '0' }, timeoutMs: BUILD_TIMEOUT_MS });
      // A program that is only half there must never be found.
      await rename(made, join(cache, name));
    } finally {
      await rm(made, { force: true });
    }
  }
  return cache;
}

/** The API server gives its version to clients, and refuses to start without one. */
function flagsOf(name: string): string {
  if (name !== 'kube-apiserver') return '-s -w';
  const [major, minor] = VERSION.split('.');
  const words = { gitVersion: `v${VERSION}`, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const stamps = Object.entries(words).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`);
  return ['-s -w', ...stamps].join(' ');
}
