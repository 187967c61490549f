import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Encrypts secrets for the database. What is sealed for one row can't be opened as another's. */
export type Keyring = {
  /** `v1:<key id>:<nonce>:<ciphertext and tag>`, the last two in base64. */
  seal(plaintext: string, binding: string): string;
  /** Throws a plain error when the key is missing, the text was changed, or `binding` is not the one it was sealed with. */
  open(sealed: string, binding: string): string;
};

/**
 * Reads `kid:base64 of 32 bytes[,kid:…]`. The first key encrypts, every key decrypts: a new key is put in front, and
 * the old one stays until nothing is sealed with it. No error ever shows key material.
 */
export function createKeyring(spec: string): Keyring {
  const keys = parseKeys(spec);
  const [first] = keys;
  if (first === undefined) throw new Error('The key ring is empty: give kid:base64 of 32 bytes');
  const [sealingId, sealingKey] = first;

  return {
    seal: (plaintext, binding) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, sealingKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(binding));
      const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return [VERSION, sealingId, nonce.toString('base64'), sealed.toString('base64')].join(':');
    },
    open: (sealed, binding) => {
      const { keyId, nonce, ciphertext, tag } = parseSealed(sealed);
      const key = keys.get(keyId);
      if (key === undefined) throw new Error(`The key ring has no key "${keyId}"`);
      return decrypt({ key, nonce, ciphertext, tag, binding });
    },
  };
}

/**
 * Names the row that a secret belongs to. Sealed text that is copied to another row or another account no longer
 * opens, so whoever can write the table still can't use one tenant's secret as another's.
 */
export function rowBinding(row: { table: string; id: string; accountId: string }): string {
  return `${row.table}|${row.id}|${row.accountId}`;
}

function parseKeys(spec: string): Map<string, Buffer> {
  const keys = new Map<string, Buffer>();
  const entries = spec.split(',').map((entry) => entry.trim());
  for (const [index, entry] of entries.filter((entry) => entry !== '').entries()) {
    const [keyId = '', encoded = '', ...rest] = entry.split(':');
    if (!KEY_ID.test(keyId) || rest.length > 0) throw new Error(`Key ${index + 1} of the key ring is not kid:base64`);
    if (keys.has(keyId)) throw new Error(`The key ring names key "${keyId}" twice`);
    const key = BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.alloc(0);
    if (key.length !== KEY_BYTES) throw new Error(`Key "${keyId}" of the key ring is not ${KEY_BYTES} bytes of base64`);
    keys.set(keyId, key);
  }
  return keys;
}

function parseSealed(sealed: string): { keyId: string; nonce: Buffer; ciphertext: Buffer; tag: Buffer } {
  const [version, keyId = '', nonceText = '', sealedText = '', ...rest] = sealed.split(':');
  const nonce = Buffer.from(nonceText, 'base64');
  const bytes = Buffer.from(sealedText, 'base64');
  const wellFormed =
    version === VERSION && rest.length === 0 && nonce.length === NONCE_BYTES && bytes.length >= TAG_BYTES;
  if (!wellFormed) throw new Error('This is not a sealed secret');
  return { keyId, nonce, ciphertext: bytes.subarray(0, -TAG_BYTES), tag: bytes.subarray(-TAG_BYTES) };
}

type Sealed = { key: Buffer; nonce: Buffer; ciphertext: Buffer; tag: Buffer; binding: string };

function decrypt({ key, nonce, ciphertext, tag, binding }: Sealed): string {
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(binding));
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new Error('A sealed secret does not open: another key, changed text, or not sealed for this row', { cause });
  }
}
