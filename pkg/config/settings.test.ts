import { describe, expect, it } from '@jest/globals';
import { loadSettings, redact } from './settings.ts';

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
});
