import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseProxyUrl } from '../capture/index.ts';
import type { CaptureLane } from './lane.ts';

/** What a Secret and its keys may be called; a path it can't be. */
const SECRET_NAME = /^(?!\.{1,2}$)[-._a-zA-Z0-9]{1,253}$/;

/**
 * The proxies of a lane by country. The value of a `proxySecretRef` is the file `<secretsDir>/<name>/<key>`, as a
 * cluster mounts it. Throws one line that names the lane's entry, never its value.
 */
export async function readProxies(
  { metadata, spec }: CaptureLane,
  secretsDir: string,
): Promise<ReadonlyMap<string, string>> {
  const proxies = new Map<string, string>();
  for (const [index, { country, proxySecretRef }] of spec.egress.entries()) {
    const where = `lane ${metadata.name}: spec.egress[${index}].proxySecretRef`;
    try {
      if (proxies.has(country)) throw new Error(`${country} has a proxy already`);
      proxies.set(country, parseProxyUrl(await readSecret(secretsDir, proxySecretRef)));
    } catch (error) {
      throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
  return proxies;
}

async function readSecret(secretsDir: string, { name, key }: { name: string; key: string }): Promise<string> {
  for (const part of [name, key]) {
    if (!SECRET_NAME.test(part)) throw new Error(`"${part}" is not the name of a Secret or of a key in one`);
  }
  const path = join(secretsDir, name, key);
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} can't be read`, { cause: error });
  }
}
