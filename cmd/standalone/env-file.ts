import { readFile, rename, writeFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { hasCode } from './servers/errors.ts';

export type Variables = Readonly<Record<string, string>>;

/** The variables of a file of `NAME=value` lines; none when there is no file. */
export async function readEnvFile(path: string): Promise<Variables> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return '';
    throw error;
  });
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(parseEnv(text))) if (value !== undefined) variables[name] = value;
  return variables;
}

/** Replaces the file in one step. It holds secrets: only its owner may read it. */
export async function writeEnvFile(path: string, variables: Variables): Promise<void> {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quote(value)}\n`);
  const text = `# Written by make run; read by npx scs. Holds secrets.\n${lines.join('')}`;
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The format has no escapes: a value is put between quotes that it does not contain. */
function quote(value: string): string {
  if (/^[\w@%+=:,./?&-]*$/.test(value)) return value;
  const mark = [`'`, `"`, '`'].find((candidate) => !value.includes(candidate));
  if (mark === undefined || (mark === '"' && value.includes('\\')))
    throw new Error(`can't be written to an env file: ${value}`);
  return `${mark}${value}${mark}`;
}
