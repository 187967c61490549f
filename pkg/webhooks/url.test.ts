import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseExtraDestinations, vetUrl } from './url.ts';

describe('vetUrl', () => {
  it.each([
    { url: 'https://hooks.example.com/path?x=1', sent: 'https://hooks.example.com/path?x=1' },
    { url: 'https://hooks.example.com:443/', sent: 'https://hooks.example.com/' },
    { url: 'https://hooks.example.com./a#part', sent: 'https://hooks.example.com/a' },
    { url: 'HTTPS://HOOKS.Example.COM', sent: 'https://hooks.example.com/' },
    { url: 'https://bücher.example/', sent: 'https://xn--bcher-kva.example/' },
    { url: 'https://no-such-host.invalid/', sent: 'https://no-such-host.invalid/' },
  ])('lets $url through as $sent', ({ url, sent }) => {
    const verdict = vetUrl(url, []);
    expect(verdict.ok && verdict.url.href).toBe(sent);
  });

  it.each([
    { url: '', reason: 'absolute URL' },
    { url: '/hook', reason: 'absolute URL' },
    { url: 'https://', reason: 'absolute URL' },
    { url: 'https://256.1.1.1/', reason: 'absolute URL' },
    { url: 'ftp://hooks.example.com/', reason: 'https' },
    { url: 'javascript:alert(1)', reason: 'https' },
    { url: 'http://hooks.example.com/', reason: 'https' },
    { url: 'https://user@hooks.example.com/', reason: 'user name' },
    { url: 'https://user:pass@hooks.example.com/', reason: 'user name' },
    { url: 'https://:pass@hooks.example.com/', reason: 'user name' },
    { url: 'https://hooks.example.com:8443/', reason: 'port 443' },
    { url: 'https://hooks.example.com:80/', reason: 'port 443' },
    { url: 'https://localhost/', reason: 'public name' },
    { url: 'https://localhost./', reason: 'public name' },
    { url: 'https://LOCALHOST/', reason: 'public name' },
    { url: 'https://api.localhost/', reason: 'public name' },
    { url: 'https://metadata.google.internal/', reason: 'public name' },
    { url: 'https://metadata.google.internal./', reason: 'public name' },
    { url: 'https://printer.local/', reason: 'public name' },
    { url: 'https://kubernetes.default.svc.cluster.local/', reason: 'public name' },
    { url: 'https://kubernetes.default.svc/', reason: 'public name' },
    { url: 'https://postgres/', reason: 'public name' },
    { url: 'https://hooks.example.com../', reason: 'valid name' },
  ])('refuses $url', ({ url, reason }) => {
    const verdict = vetUrl(url, []);
    expect(verdict.ok ? 'let through' : verdict.reason).toContain(reason);
  });

  it.each([
    { spelling: '127.1', address: '127.0.0.1' },
    { spelling: '127.0.0.1.', address: '127.0.0.1' },
    { spelling: '2130706433', address: '127.0.0.1' },
    { spelling: '0x7f.1', address: '127.0.0.1' },
    { spelling: '0x7f000001', address: '127.0.0.1' },
    { spelling: '0177.0.0.1', address: '127.0.0.1' },
    { spelling: '①②⑦.0.0.1', address: '127.0.0.1' },
    { spelling: '127。0。0。1', address: '127.0.0.1' },
    { spelling: '%31%32%37.0.0.1', address: '127.0.0.1' },
    { spelling: '[::ffff:127.0.0.1]', address: '::ffff:7f00:1' },
    { spelling: '[0:0:0:0:0:0:0:1]', address: '::1' },
  ])('reads the address behind $spelling', ({ spelling, address }) => {
    expect(vetUrl(`https://${spelling}/`, [])).toMatchObject({ ok: true, host: address, literal: true });
  });

  it('takes every number form of an IPv4 address for an address, never for a name', () => {
    const forms = [
      (value: number) => String(value),
      (value: number) => `0x${value.toString(16)}`,
      (value: number) => `0${value.toString(8)}`,
      (value: number) => `${Math.floor(value / 2 ** 24)}.${value % 2 ** 24}`,
    ];
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(...forms), (value, form) => {
        expect(vetUrl(`https://${form(value)}/`, [])).toMatchObject({ ok: true, literal: true });
      }),
    );
  });

  describe('with destinations that the operator listed', () => {
    const extras = parseExtraDestinations('receiver.corp:8080, 127.0.0.1:9000,[::1]:9001,LOCALHOST:9002,plain.corp:80');

    it.each([
      'http://receiver.corp:8080/hook',
      'https://receiver.corp:8080/hook',
      'http://receiver.corp.:8080/hook',
      'http://127.1:9000/',
      'http://[0:0::1]:9001/',
      'http://localhost:9002/',
      'http://plain.corp/',
    ])('lets %s through', (url) => {
      expect(vetUrl(url, extras)).toMatchObject({ ok: true, extra: true });
    });

    it.each([
      'http://receiver.corp:8081/',
      'http://other.corp:8080/',
      'http://x.receiver.corp:8080/',
      'https://plain.corp:80@evil.example/',
    ])('still refuses %s', (url) => {
      expect(vetUrl(url, extras).ok).toBe(false);
    });
  });
});

describe('parseExtraDestinations', () => {
  it('reads nothing from an empty setting', () => {
    expect(parseExtraDestinations(' ')).toEqual([]);
  });

  it.each([
    'receiver',
    'receiver:',
    'receiver:0',
    'receiver:70000',
    'http://receiver:80',
    'a@receiver:80',
    'receiver:80/x',
    '::1:80',
  ])('refuses %j and names it', (entry) => {
    expect(() => parseExtraDestinations(`ok.corp:1,${entry}`)).toThrow(`"${entry}"`);
  });
});
