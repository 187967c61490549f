import { describe, expect, it } from '@jest/globals';
import { ServiceError } from '../contract/index.ts';
import { createGuard, requireDestination } from './guard.ts';
import type { Resolve } from '../network/index.ts';
import { parseExtraDestinations } from './url.ts';

const NAMES: Record<string, string[]> = {
  'public.example': ['8.8.8.8', '2606:4700:4700::1111'],
  'private.example': ['10.0.0.1'],
  'mixed.example': ['8.8.8.8', '169.254.169.254'],
  'mixed6.example': ['2606:4700:4700::1111', '::1'],
  'receiver.corp': ['10.0.0.1'],
};

const resolve: Resolve = (hostname) => {
  const addresses = NAMES[hostname];
  return addresses === undefined
    ? Promise.reject(new Error(`${hostname} does not resolve`))
    : Promise.resolve(addresses);
};

const guard = createGuard({
  extras: parseExtraDestinations('receiver.corp:8080,127.0.0.1:9000'),
  resolvePublic: resolve,
  resolveExtra: resolve,
});

describe('a guard', () => {
  it.each([
    { url: 'https://public.example/hook', kind: 'allowed' },
    { url: 'https://8.8.8.8/', kind: 'allowed' },
    { url: 'https://private.example/', kind: 'refused' },
    { url: 'https://mixed.example/', kind: 'refused' },
    { url: 'https://mixed6.example/', kind: 'refused' },
    { url: 'https://169.254.169.254/latest/meta-data', kind: 'refused' },
    { url: 'https://[::ffff:10.0.0.1]/', kind: 'refused' },
    { url: 'https://0x7f.1/', kind: 'refused' },
    { url: 'https://unknown.example/', kind: 'unresolved' },
    { url: 'http://receiver.corp:8080/', kind: 'allowed' },
    { url: 'http://receiver.corp:8081/', kind: 'refused' },
    { url: 'https://receiver.corp/', kind: 'refused' },
    { url: 'http://127.0.0.1:9000/', kind: 'allowed' },
    { url: 'http://127.0.0.1:9001/', kind: 'refused' },
  ])('finds $url $kind', async ({ url, kind }) => {
    expect((await guard.resolveDestination(url)).kind).toBe(kind);
  });

  it('hands out exactly the addresses that it vetted', async () => {
    const verdict = await guard.resolveDestination('https://public.example./hook');
    expect(verdict).toMatchObject({ destination: { addresses: ['8.8.8.8', '2606:4700:4700::1111'] } });
  });

  it('does not tell the address that it refused', async () => {
    const verdict = await guard.resolveDestination('https://private.example/');
    expect(JSON.stringify(verdict)).toContain('private');
    expect(JSON.stringify(verdict)).not.toContain('10.0.0.1');
  });
});

describe('requireDestination', () => {
  it.each(['https://public.example/hook', 'https://unknown.example/'])('accepts %s', async (url) => {
    await expect(requireDestination(guard, url, 'webhook.url')).resolves.toBeUndefined();
  });

  it('refuses with an error that names the field', async () => {
    const error: unknown = await requireDestination(guard, 'https://mixed.example/', 'items[2].webhook.url').then(
      () => 'accepted',
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', details: [{ path: 'items[2].webhook.url' }] });
  });
});
