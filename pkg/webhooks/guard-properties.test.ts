import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { classifyAddress } from '../network/index.ts';
import { createGuard } from './guard.ts';

/** A look-up would mean that a spelling of an address was taken for a name: it leads to a public address, so it shows. */
const guard = createGuard({
  extras: [],
  resolvePublic: () => Promise.resolve(['8.8.8.8']),
  resolveExtra: () => Promise.resolve(['8.8.8.8']),
});

const kindOf = async (host: string): Promise<string> => (await guard.resolveDestination(`https://${host}/`)).kind;

const toText = (value: number): string => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');

/** Addresses inside one of the refused ranges, and any. */
const privateIpv4 = fc
  .tuple(
    fc.constantFrom(
      '0',
      '10',
      '127',
      '169.254',
      '172.16',
      '172.31',
      '192.168',
      '100.64',
      '100.127',
      '198.18',
      '224',
      '255',
    ),
    fc.integer({ min: 0, max: 2 ** 24 - 1 }),
  )
  .map(([start, rest]) => {
    const [first = 0, second] = start.split('.').map(Number);
    return first * 2 ** 24 + (second === undefined ? rest : second * 2 ** 16 + (rest % 2 ** 16));
  });
const anyIpv4 = fc.oneof(privateIpv4, fc.integer({ min: 0, max: 2 ** 32 - 1 }));

const inBase = (base: 'decimal' | 'hex' | 'HEX' | 'octal' | 'long octal', value: number): string =>
  ({
    decimal: () => String(value),
    hex: () => `0x${value.toString(16)}`,
    HEX: () => `0X00${value.toString(16).toUpperCase()}`,
    octal: () => `0${value.toString(8)}`,
    'long octal': () => `0000${value.toString(8)}`,
  })[base]();

/** What inet_aton takes: one to four parts, each in a base of its own, the last filling what is left. */
const spelling = fc
  .tuple(
    fc.constantFrom(1, 2, 3, 4),
    fc.array(fc.constantFrom('decimal', 'hex', 'HEX', 'octal', 'long octal'), { minLength: 4, maxLength: 4 }),
    fc.constantFrom('', '.'),
  )
  .map(([parts, bases, end]) => (value: number): string => {
    const bytes = [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256);
    const last = value % 2 ** (8 * (5 - parts));
    const numbers = [...bytes.slice(0, parts - 1), last];
    return numbers.map((number, index) => inBase(bases[index] ?? 'decimal', number)).join('.') + end;
  });

/** What a browser folds into plain digits and dots before it looks at the address. */
const disguise = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
  (text) => text.replaceAll('.', '。'),
  (text) => text.replace(/\d/g, (digit) => `%3${digit}`),
);

const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
const toPair = (value: number): string => `${Math.floor(value / 65_536).toString(16)}:${(value % 65_536).toString(16)}`;

describe('whatever the spelling,', () => {
  it('an IPv4 address is judged as the address that it is', async () => {
    await fc.assert(
      fc.asyncProperty(anyIpv4, spelling, disguise, async (value, spell, hide) => {
        const expected = classifyAddress(toText(value)).global ? 'allowed' : 'refused';
        expect(await kindOf(hide(spell(value)))).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('an IPv6 address that carries a private IPv4 address is refused', async () => {
    const carriers = fc.constantFrom<(value: number) => string>(
      (value) => `::ffff:${toPair(value)}`,
      (value) => `::ffff:${toText(value)}`,
      (value) => `::${toPair(value)}`,
      (value) => `::${toText(value)}`,
      (value) => `0:0:0:0:0:ffff:${toPair(value)}`,
      (value) => `::ffff:0:${toPair(value)}`,
      (value) => `64:ff9b::${toPair(value)}`,
      (value) => `64:ff9b::${toText(value)}`,
      (value) => `2002:${toPair(value)}::`,
      (value) => `2001:0:${toPair(value)}::`,
      (value) => `2001:0:4136:e378:8000:63bf:${toPair(2 ** 32 - 1 - value)}`,
    );
    await fc.assert(
      fc.asyncProperty(privateIpv4, carriers, async (value, carry) => {
        expect(await kindOf(`[${carry(value)}]`)).toBe('refused');
      }),
    );
  });

  it('an IPv6 address outside what is routed is refused', async () => {
    const first = fc.constantFrom('0', '100', 'fc00', 'fd12', 'fe80', 'fec0', 'ff02', '4000', '5f00', '3fff');
    await fc.assert(
      fc.asyncProperty(first, fc.array(group, { minLength: 7, maxLength: 7 }), async (start, rest) => {
        const limited = start === '3fff' ? ['0', ...rest.slice(1)] : rest;
        expect(await kindOf(`[${[start, ...limited].join(':')}]`)).toBe('refused');
      }),
    );
  });

  it('a user name, another port or another scheme is refused for any public host', async () => {
    const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    const bad = fc.oneof(
      word.map((user) => `https://${user}@hooks.example.com/`),
      word.map((password) => `https://:${password}@hooks.example.com/`),
      fc
        .integer({ min: 1, max: 65_535 })
        .filter((port) => port !== 443)
        .map((port) => `https://hooks.example.com:${port}/`),
      fc.constantFrom('http', 'ftp', 'ws', 'wss', 'file', 'gopher').map((scheme) => `${scheme}://hooks.example.com/`),
    );
    await fc.assert(
      fc.asyncProperty(bad, async (url) => {
        expect((await guard.resolveDestination(url)).kind).toBe('refused');
      }),
    );
  });

  it('no text makes it throw, and what it allows has addresses that are all public', async () => {
    const text = fc.oneof(
      fc.string(),
      fc.webUrl(),
      fc.string().map((host) => `https://${host}/`),
    );
    await fc.assert(
      fc.asyncProperty(text, async (url) => {
        const verdict = await guard.resolveDestination(url);
        if (verdict.kind !== 'allowed') return;
        expect(verdict.destination.addresses.every((address) => classifyAddress(address).global)).toBe(true);
        expect(verdict.destination.url.protocol).toBe('https:');
      }),
      { numRuns: 500 },
    );
  });
});
