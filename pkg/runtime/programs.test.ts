import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ensureProgram, findProgram, type Program } from './programs.ts';

const program: Program = {
  title: 'Widget',
  names: ['widgetd', 'widget'],
  packages: { apk: ['widget-small', 'widget-full'], brew: ['widget'] },
  variable: 'WIDGET',
};

describe('a program that the service needs', () => {
  let folder = '';
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'programs-'));
    said.length = 0;
  });
  afterEach(async () => rm(folder, { recursive: true }));

  async function put(name: string, script: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  }

  it('is taken by the first of its names that is on PATH', async () => {
    const second = await put('widget', '');
    expect(await findProgram(program.names, `/nowhere:${folder}`)).toBe(second);
    const first = await put('widgetd', '');
    expect(await ensureProgram(program, { path: folder, isRoot: false, say })).toBe(first);
    expect(said).toEqual([]);
  });

  it('is not a folder, nor a file that may not be executed', async () => {
    await mkdir(join(folder, 'widgetd'));
    await writeFile(join(folder, 'widget'), '', { mode: 0o644 });
    expect(await findProgram(program.names, folder)).toBeUndefined();
  });

  it('is installed by root from the first package that brings it', async () => {
    const wanted = join(folder, 'widget');
    await put(
      'apk',
      `[ "$1 $2" = "add widget-full" ] || { echo "no such package $2" >&2; exit 1; }\n: > ${wanted}; /bin/chmod 755 ${wanted}`,
    );
    expect(await ensureProgram(program, { path: folder, isRoot: true, say })).toBe(wanted);
    expect(said).toEqual([
      'Widget is missing: installing widget-small with apk',
      'Widget is missing: installing widget-full with apk',
    ]);
  });

  it.each([
    {
      manager: 'apk',
      isRoot: false,
      message: 'Widget is missing. Type: sudo apk add widget-small, or set WIDGET to its path',
    },
    {
      manager: 'brew',
      isRoot: true,
      message: 'Widget is missing. Type: brew install widget, or set WIDGET to its path',
    },
    {
      manager: undefined,
      isRoot: true,
      message: 'Widget is missing. Install it (one of: widgetd, widget), or set WIDGET to its path.',
    },
  ])(
    'is asked for in one line where it may not be installed ($manager, root: $isRoot)',
    async ({ manager, isRoot, message }) => {
      if (manager !== undefined) await put(manager, 'echo must not run >&2; exit 1');
      await expect(ensureProgram(program, { path: folder, isRoot, say })).rejects.toThrow(new Error(message));
    },
  );

  it('is asked for with the reason when its installation fails', async () => {
    await put('apk', 'echo "disk is full" >&2; exit 1');
    const attempt = ensureProgram(program, { path: folder, isRoot: true, say });
    await expect(attempt).rejects.toThrow(/could not be installed. Type: sudo apk add widget-small.*\n.*disk is full/);
  });
});
