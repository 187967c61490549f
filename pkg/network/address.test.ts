import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { classifyAddress } from './address.ts';

const NOT_GLOBAL = [
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '64:ff9b::7f00:1',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::808:808',
  '100::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:808:808::1',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  '2606:4700::1111%eth0',
  'fec0::1',
  'ff02::1',
  '',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '0177.0.0.1',
];

const GLOBAL = [
  '1.1.1.1',
  '8.8.8.8',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '64:ff9b::808:808',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2606:4700:4700::1111',
  '3ffe::1',
];

/** First address, prefix length: written out a second time, as numbers, to check the list against. */
const NON_GLOBAL_BLOCKS: [number[], number][] = [
  [[0, 0, 0, 0], 8],
  [[10, 0, 0, 0], 8],
  [[100, 64, 0, 0], 10],
  [[127, 0, 0, 0], 8],
  [[169, 254, 0, 0], 16],
  [[172, 16, 0, 0], 12],
  [[192, 0, 0, 0], 24],
  [[192, 0, 2, 0], 24],
  [[192, 88, 99, 0], 24],
  [[192, 168, 0, 0], 16],
  [[198, 18, 0, 0], 15],
  [[198, 51, 100, 0], 24],
  [[203, 0, 113, 0], 24],
  [[224, 0, 0, 0], 3],
  [[168, 63, 129, 16], 32],
];

function toNumber(bytes: readonly number[]): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

function toText(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

function toHexPair(value: number): string {
  return `${Math.floor(value / 65_536).toString(16)}:${(value % 65_536).toString(16)}`;
}

const anyIpv4 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const nonGlobalIpv4 = fc.constantFrom(...NON_GLOBAL_BLOCKS).chain(([first, prefix]) => {
  const start = toNumber(first);
  return fc.integer({ min: start, max: start + 2 ** (32 - prefix) - 1 });
});

describe('classifyAddress', () => {
  it.each(NOT_GLOBAL)('finds %j not global', (address) => {
    expect(classifyAddress(address).global).toBe(false);
  });

  it.each(GLOBAL)('finds %s global', (address) => {
    expect(classifyAddress(address)).toEqual({ global: true, range: 'global' });
  });

  it('agrees with the arithmetic of the blocks on every IPv4 address', () => {
    const inSomeBlock = (value: number): boolean =>
      NON_GLOBAL_BLOCKS.some(([first, prefix]) => {
        const size = 2 ** (32 - prefix);
        return Math.floor(value / size) === Math.floor(toNumber(first) / size);
      });
    fc.assert(
      fc.property(fc.oneof(anyIpv4, nonGlobalIpv4), (value) => {
        expect(classifyAddress(toText(value)).global).toBe(!inSomeBlock(value));
      }),
    );
  });

  it.each([
    { carrier: 'NAT64', wrap: (pair: string) => `64:ff9b::${pair}` },
    { carrier: 'mapped', wrap: (pair: string) => `::ffff:${pair}` },
    { carrier: 'compatible', wrap: (pair: string) => `::${pair}` },
    { carrier: '6to4', wrap: (pair: string) => `2002:${pair}::1` },
    { carrier: 'Teredo', wrap: (pair: string) => `2001:0:${pair}::1` },
  ])('never lets a non-global IPv4 address through inside $carrier', ({ wrap }) => {
    fc.assert(
      fc.property(nonGlobalIpv4, (value) => {
        expect(classifyAddress(wrap(toHexPair(value))).global).toBe(false);
      }),
    );
  });

  it('finds no IPv6 address outside 2000::/3 global but those behind NAT64', () => {
    const firstGroup = fc.integer({ min: 0, max: 0xffff }).filter((group) => group >> 13 !== 1 && group !== 0x64);
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(firstGroup, fc.array(group, { minLength: 7, maxLength: 7 }), (first, rest) => {
        const address = [first, ...rest].map((part) => part.toString(16)).join(':');
        expect(classifyAddress(address).global).toBe(false);
      }),
    );
  });

  it('answers for any text', () => {
    fc.assert(fc.property(fc.string(), (text) => typeof classifyAddress(text).global === 'boolean'));
  });
});
