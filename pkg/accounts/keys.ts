import { createHmac, randomBytes } from 'node:crypto';
import { newId } from '../contract/index.ts';
import { query, type Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';
import { isScope, SCOPES, type Scope } from './scopes.ts';

export type KeyMode = 'live' | 'test' | 'internal';

/** Who calls, and what the key allows. */
export type Caller = {
  keyId: string;
  accountId: string;
  plan: string;
  mode: KeyMode;
  scopes: readonly Scope[];
};

const LETTERS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** About 238 bits: a key is random enough that a plain keyed hash is all its storage needs. */
const SECRET_LENGTH = 40;

/** `sk_<mode>_` and 40 letters or digits. */
export function makeKey(mode: KeyMode, random: (size: number) => Buffer = randomBytes): string {
  let secret = '';
  while (secret.length < SECRET_LENGTH) {
    for (const byte of random(64)) {
      // Bytes of 248 and more would favour the first letters.
      if (byte < 248 && secret.length < SECRET_LENGTH) secret += LETTERS.charAt(byte % LETTERS.length);
    }
  }
  return `sk_${mode}_${secret}`;
}

/** What is stored of a key. The pepper makes a stolen table useless for checking guesses. */
export function hashKey(key: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest();
}

export type NewKey = { accountId: string; mode: KeyMode; scopes: readonly Scope[] };

/** Makes a key and stores its hash. The returned text is the only copy there will ever be. */
export async function createKey(
  sql: Sql,
  deps: { pepper: string; clock: Clock },
  { accountId, mode, scopes }: NewKey,
): Promise<{ keyId: string; key: string }> {
  const key = makeKey(mode);
  const keyId = newId('key', deps.clock.nowMs());
  await query(
    sql,
    `INSERT INTO api_keys (id, account_id, hash, mode, last_four, scopes)
     VALUES (:keyId, :accountId, :hash, :mode, :lastFour, :scopes)`,
    {
      keyId,
      accountId,
      hash: hashKey(key, deps.pepper),
      mode,
      lastFour: key.slice(-4),
      scopes: [...(scopes.length > 0 ? scopes : SCOPES)],
    },
  );
  return { keyId, key };
}

/** Ends a key for good; true when there was such a key. Revoking it again changes nothing. */
export async function revokeKey(sql: Sql, keyId: string): Promise<boolean> {
  const rows = await query<{ id: string }>(
    sql,
    'UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = :keyId RETURNING id',
    { keyId },
  );
  return rows.length > 0;
}

/** The caller behind a key; null for a key that is unknown or revoked. */
export async function findCaller(sql: Sql, key: string, pepper: string): Promise<Caller | null> {
  const [row] = await query<Omit<Caller, 'scopes'> & { scopes: string[] }>(
    sql,
    `SELECT k.id AS "keyId", k.account_id AS "accountId", k.mode, k.scopes, a.plan
     FROM api_keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.hash = :hash AND k.revoked_at IS NULL`,
    { hash: hashKey(key, pepper) },
  );
  return row === undefined ? null : { ...row, scopes: row.scopes.filter(isScope) };
}

/** Keys that were revoked in the last `seconds`. */
export async function listRevokedKeys(sql: Sql, seconds: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    sql,
    'SELECT id FROM api_keys WHERE revoked_at > now() - make_interval(secs => :seconds)',
    { seconds },
  );
  return rows.map(({ id }) => id);
}
