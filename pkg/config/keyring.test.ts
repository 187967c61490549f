import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createKeyring, rowBinding } from './keyring.ts';

const oldKey = `old:${randomBytes(32).toString('base64')}`;
const newKey = `new:${randomBytes(32).toString('base64')}`;
const binding = rowBinding({ table: 'webhook_secrets', id: 'whsec_1', accountId: 'acct_1' });

function flipLastByte(sealed: string): string {
  const [version = '', keyId = '', nonce = '', text = ''] = sealed.split(':');
  const bytes = Buffer.from(text, 'base64');
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return [version, keyId, nonce, bytes.toString('base64')].join(':');
}

describe('a key ring', () => {
  it.each(['', 'whsec_abc', 'ünïcode 🦊', 'x'.repeat(10_000)])('opens what it sealed', (plaintext) => {
    const keyring = createKeyring(oldKey);
    const sealed = keyring.seal(plaintext, binding);
    expect(sealed).toMatch(/^v1:old:[^:]+:[^:]+$/);
    expect(keyring.open(sealed, binding)).toBe(plaintext);
  });

  it('never seals the same text to the same bytes', () => {
    const keyring = createKeyring(oldKey);
    expect(keyring.seal('secret', binding)).not.toBe(keyring.seal('secret', binding));
  });

  it('seals with its first key and opens with every key', () => {
    const sealedBefore = createKeyring(oldKey).seal('secret', binding);
    const rotated = createKeyring(`${newKey},${oldKey}`);
    expect(rotated.open(sealedBefore, binding)).toBe('secret');
    expect(rotated.seal('secret', binding)).toMatch(/^v1:new:/);
  });

  it('names the key that it lacks', () => {
    const sealed = createKeyring(oldKey).seal('secret', binding);
    expect(() => createKeyring(newKey).open(sealed, binding)).toThrow('no key "old"');
  });

  it.each([
    { other: 'table', row: { table: 'jobs', id: 'whsec_1', accountId: 'acct_1' } },
    { other: 'row', row: { table: 'webhook_secrets', id: 'whsec_2', accountId: 'acct_1' } },
    { other: 'account', row: { table: 'webhook_secrets', id: 'whsec_1', accountId: 'acct_2' } },
  ])('does not open a secret that was moved to another $other', ({ row }) => {
    const keyring = createKeyring(oldKey);
    const sealed = keyring.seal('secret', binding);
    expect(() => keyring.open(sealed, rowBinding(row))).toThrow('does not open');
  });

  it('does not open text that was changed', () => {
    const keyring = createKeyring(oldKey);
    expect(() => keyring.open(flipLastByte(keyring.seal('secret', binding)), binding)).toThrow('does not open');
  });

  it.each(['', 'secret', 'v2:old:AAAA:AAAA', 'v1:old:AAAA:AAAA', 'v1:old:AAAAAAAAAAAAAAAA:AAAA', 'v1:old:a:b:c'])(
    'refuses %j, which is not sealed text',
    (sealed) => {
      expect(() => createKeyring(oldKey).open(sealed, binding)).toThrow('not a sealed secret');
    },
  );

  it.each([
    { spec: '', problem: 'empty' },
    { spec: 'k1', problem: 'not 32 bytes' },
    { spec: 'k1:', problem: 'not 32 bytes' },
    { spec: `k1:${randomBytes(16).toString('base64')}`, problem: 'not 32 bytes' },
    { spec: `k1:${randomBytes(32).toString('base64')}:x`, problem: 'not kid:base64' },
    { spec: `bad id:${randomBytes(32).toString('base64')}`, problem: 'not kid:base64' },
    { spec: `${oldKey},${oldKey}`, problem: 'twice' },
  ])('refuses a spec that is $problem, without showing the key', ({ spec, problem }) => {
    const message = messageOf(() => createKeyring(spec));
    expect(message).toContain(problem);
    expect(message).not.toMatch(/[A-Za-z0-9+/]{20,}/);
  });
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return String(error);
  }
  return 'nothing was thrown';
}
