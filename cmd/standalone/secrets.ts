import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { readEnvFile, type Variables } from './env-file.ts';

export type Secrets = { postgresPassword: string; apiKeyPepper: string; secretsKeyring: string };

/**
 * The secrets of this installation: those of the last start, or new ones. Throws where there is data but its secrets
 * are lost: new ones would not open it.
 */
export async function loadSecrets(envFile: string, dataDir: string): Promise<{ secrets: Secrets; saved: Variables }> {
  const saved = await readEnvFile(envFile);
  const { POSTGRES_PASSWORD, API_KEY_PEPPER, SECRETS_KEYRING } = saved;
  if (POSTGRES_PASSWORD !== undefined && API_KEY_PEPPER !== undefined && SECRETS_KEYRING !== undefined) {
    const secrets = {
      postgresPassword: POSTGRES_PASSWORD,
      apiKeyPepper: API_KEY_PEPPER,
      secretsKeyring: SECRETS_KEYRING,
    };
    return { secrets, saved };
  }
  const hasData = await stat(dataDir).then(
    () => true,
    () => false,
  );
  if (hasData)
    throw new Error(`${dataDir} holds data, but ${envFile} with its secrets is gone. Start anew with: make clean run`);
  const secrets = {
    postgresPassword: randomBytes(24).toString('base64url'),
    apiKeyPepper: randomBytes(32).toString('base64url'),
    secretsKeyring: `k1:${randomBytes(32).toString('base64')}`,
  };
  return { secrets, saved };
}
