import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { listSettings, loadSettings, redact } from './settings.ts';

describe('settings', () => {
  it('take their defaults where the environment says nothing', () => {
    expect(loadSettings({}, ['host', 'port', 'logLevel', 'syncWaitSeconds'])).toEqual({
      host: '127.0.0.1',
      port: 8080,
      logLevel: 'info',
      syncWaitSeconds: 90,
    });
  });

  it('name every variable that is missing or wrong, at once', () => {
    const load = () => loadSettings({ PORT: 'http', LOG_LEVEL: 'loud' }, ['databaseUrl', 'port', 'logLevel']);
    expect(load).toThrow(/DATABASE_URL[^]*PORT[^]*LOG_LEVEL/);
    expect(load).toThrow(/debug, info/);
  });

  it('are shown without secrets', () => {
    const settings = loadSettings({ DATABASE_URL: 'postgres://user:password@host/db' }, ['databaseUrl', 'host']);
    expect(JSON.stringify(redact(settings))).not.toContain('password');
  });

  it('take true and false for a switch, and nothing else', () => {
    expect(loadSettings({ S3_FORCE_PATH_STYLE: 'false' }, ['s3ForcePathStyle']).s3ForcePathStyle).toBe(false);
    expect(loadSettings({}, ['s3ForcePathStyle']).s3ForcePathStyle).toBe(true);
    expect(() => loadSettings({ S3_FORCE_PATH_STYLE: 'perhaps' }, ['s3ForcePathStyle'])).toThrow('S3_FORCE_PATH_STYLE');
  });

  it('take an address of the S3 store or none', () => {
    expect(loadSettings({ S3_ENDPOINT: '' }, ['s3Endpoint']).s3Endpoint).toBe('');
    expect(() => loadSettings({ S3_ENDPOINT: 'minio:9000' }, ['s3Endpoint'])).toThrow('http(s) URL');
  });
});

describe('docs/settings.md', () => {
  it('lists every setting, with its default and its help, and no other', async () => {
    const text = await readFile(new URL('../../docs/settings.md', import.meta.url), 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('| `'));
    const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
    expect(cells.map(([, ...rest]) => rest.slice(0, 3))).toEqual(
      listSettings().map((setting) => [`\`${setting.variable}\``, shownDefault(setting), shownHelp(setting)]),
    );
  });
});

function shownDefault({ default: value }: ReturnType<typeof listSettings>[number]): string {
  if (value === null) return 'must be set';
  return value === '' ? '' : `\`${value}\``;
}

function shownHelp({ help, secret }: ReturnType<typeof listSettings>[number]): string {
  return secret ? `${help} (secret)` : help;
}
