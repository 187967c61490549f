import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ensureKubePrograms } from '../support/kube/programs.ts';

describe('the programs of Kubernetes', () => {
  let dir = '';
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'programs-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  async function putProgram(folder: string, name: string, lines = 'exit 0'): Promise<void> {
    await mkdir(join(dir, folder), { recursive: true });
    await writeFile(join(dir, folder, name), `#!/bin/sh\n${lines}\n`);
    await chmod(join(dir, folder, name), 0o755);
  }
  const ensure = (more: Record<string, string> = {}): Promise<string> =>
    ensureKubePrograms({
      env: { PATH: join(dir, 'bin'), XDG_CACHE_HOME: join(dir, 'cache'), ...more },
      say: () => undefined,
    });

  it('are taken from where KUBEBUILDER_ASSETS says, or its folder is named as wrong', async () => {
    const KUBEBUILDER_ASSETS = join(dir, 'named');
    await putProgram('named', 'etcd');
    await expect(ensure({ KUBEBUILDER_ASSETS })).rejects.toThrow(`${KUBEBUILDER_ASSETS} doesn't hold both`);
    await putProgram('named', 'kube-apiserver');
    expect(await ensure({ KUBEBUILDER_ASSETS })).toBe(KUBEBUILDER_ASSETS);
  });

  it('are downloaded by setup-envtest where it is installed', async () => {
    await putProgram('downloaded', 'etcd');
    await putProgram('downloaded', 'kube-apiserver');
    await putProgram('bin', 'setup-envtest', `echo "$@" > ${dir}/asked\necho ${dir}/downloaded`);
    expect(await ensure()).toBe(join(dir, 'downloaded'));
    expect(await readFile(join(dir, 'asked'), 'utf8')).toBe('use 1.34.x --print path\n');
  });

  it('are missing in words that say what to install, and what went wrong with a download', async () => {
    await putProgram('bin', 'setup-envtest', 'echo no network >&2\nexit 1');
    await expect(ensure()).rejects.toThrow(/Install Go .* or set KUBEBUILDER_ASSETS[\s\S]*no network/);
  });
});
