import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readEnvFile, writeEnvFile } from './env-file.ts';
import { loadSecrets } from './secrets.ts';

describe('the file that keeps addresses and secrets between two starts', () => {
  let dir = '';
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'env-file-'));
  });
  afterEach(async () => rm(dir, { recursive: true }));

  it('gives back what was written, and only its owner may read it', async () => {
    const variables = {
      KEYRING: 'k1:Zm9v+/8=',
      URL: 'postgres://postgres:a%20b@127.0.0.1:5432/postgres?x=1&y=2',
      FOLDER: "/home/o'neil/my #1 folder",
      EMPTY: '',
    };
    await writeEnvFile(join(dir, 'env'), variables);
    expect(await readEnvFile(join(dir, 'env'))).toEqual(variables);
    expect((await stat(join(dir, 'env'))).mode & 0o777).toBe(0o600);
  });

  it('is empty when it is not there', async () => {
    expect(await readEnvFile(join(dir, 'env'))).toEqual({});
  });

  it('brings new secrets once and the same ones ever after', async () => {
    const envFile = join(dir, 'env');
    const { secrets } = await loadSecrets(envFile, join(dir, 'no-data'));
    expect(Buffer.from(secrets.secretsKeyring.replace('k1:', ''), 'base64')).toHaveLength(32);
    await writeEnvFile(envFile, {
      POSTGRES_PASSWORD: secrets.postgresPassword,
      API_KEY_PEPPER: secrets.apiKeyPepper,
      SECRETS_KEYRING: secrets.secretsKeyring,
    });
    expect((await loadSecrets(envFile, dir)).secrets).toEqual(secrets);
  });

  it('makes no new secrets for data that the old ones belong to', async () => {
    await expect(loadSecrets(join(dir, 'env'), dir)).rejects.toThrow(`${dir} holds data, but`);
  });
});
