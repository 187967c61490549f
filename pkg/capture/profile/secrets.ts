import type { Profile } from './profile.ts';

/** The variables that a profile takes values from. */
export function listSecretNames({ go }: Profile): string[] {
  const given = [...Object.values(go.headers ?? {}), ...(go.cookies ?? []).map(({ value }) => value)];
  return [...new Set(given.flatMap((value) => (typeof value === 'string' ? [] : [value.env])))];
}

/** Their values. Throws one line that names those that are not set: without them the engine would only refuse us. */
export function readSecrets(profile: Profile, env: NodeJS.ProcessEnv): Map<string, string> {
  const secrets = new Map<string, string>();
  const missing: string[] = [];
  for (const name of listSecretNames(profile)) {
    const value = env[name];
    if (value === undefined || value === '') missing.push(name);
    else secrets.set(name, value);
  }
  if (missing.length > 0) throw new Error(`the profile needs the environment variables ${missing.join(', ')}`);
  return secrets;
}
