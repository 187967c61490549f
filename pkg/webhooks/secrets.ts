import { newId, ServiceError } from '../contract/index.ts';
import { rowBinding, type Keyring } from '../config/index.ts';
import { query, type Reader, type Sql } from '../postgres/index.ts';
import type { Clock } from '../runtime/index.ts';

const SECRET_BYTES = 32;
const TABLE = 'webhook_secrets';

/** How long a replaced secret stays good for verification, so that receivers can follow (spec 3.4). */
const DEFAULT_OVERLAP_MS = 24 * 60 * 60 * 1000;

export type SecretMaker = {
  accountId: string;
  keyring: Keyring;
  clock: Clock;
  /** Cryptographically strong bytes, for example `crypto.randomBytes`. */
  randomBytes: (size: number) => Uint8Array;
};

/** The value can be shown at this moment only; afterwards nobody can read it back through the service. */
export type NewSecret = { id: string; value: string };

/** Makes an account's managed signing secret. It signs from now on; secrets that exist stay as they are. */
export async function createSecret(sql: Sql, maker: SecretMaker): Promise<NewSecret> {
  const { secret, ciphertext } = makeSecret(maker);
  await query(
    sql,
    `INSERT INTO webhook_secrets (id, account_id, ciphertext, status) VALUES (:id, :accountId, :ciphertext, 'active')`,
    { id: secret.id, accountId: maker.accountId, ciphertext },
  );
  return secret;
}

/**
 * Makes a new signing secret; every active one becomes `retiring` and ends after `overlapMs` (24 h by default). Secrets
 * that have ended are deleted on the way.
 */
export async function rotateSecret(sql: Sql, maker: SecretMaker & { overlapMs?: number }): Promise<NewSecret> {
  const { secret, ciphertext } = makeSecret(maker);
  // One statement: between retiring the old and adding the new there must be no moment without an active secret.
  await query(
    sql,
    `WITH ended AS (
       DELETE FROM webhook_secrets WHERE account_id = :accountId AND expires_at <= now()
     ), retired AS (
       UPDATE webhook_secrets
       SET status = 'retiring', expires_at = now() + :overlapMs * interval '1 millisecond'
       WHERE account_id = :accountId AND status = 'active'
     )
     INSERT INTO webhook_secrets (id, account_id, ciphertext, status) VALUES (:id, :accountId, :ciphertext, 'active')`,
    { id: secret.id, accountId: maker.accountId, ciphertext, overlapMs: maker.overlapMs ?? DEFAULT_OVERLAP_MS },
  );
  return secret;
}

function makeSecret({ accountId, keyring, clock, randomBytes }: SecretMaker): {
  secret: NewSecret;
  ciphertext: string;
} {
  const id = newId('whsec', clock.nowMs());
  const value = `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url')}`;
  return { secret: { id, value }, ciphertext: keyring.seal(value, rowBinding({ table: TABLE, id, accountId })) };
}

/** Spec 2.8; never the value. */
type SecretMetadata = {
  id: string;
  status: 'active' | 'retiring';
  createdAt: string;
  expiresAt: string | null;
};

/** The account's secrets that can still verify a delivery, newest first (spec 4.14). */
export async function listSecrets(sql: Sql, { accountId }: { accountId: string }): Promise<SecretMetadata[]> {
  const rows = await query<{ id: string; status: 'active' | 'retiring'; created_at: Date; expires_at: Date | null }>(
    sql,
    `SELECT id, status, created_at, expires_at FROM webhook_secrets
     WHERE account_id = :accountId AND (expires_at IS NULL OR expires_at > now())
     ORDER BY created_at DESC, id DESC`,
    { accountId },
  );
  return rows.map((row) => ({
    id: row.id,
    status: row.status,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
  }));
}

export type SigningSecretOptions = { accountId: string; keyring: Keyring };

/**
 * The value that signs now: the newest active secret. Throws `WEBHOOK_SECRET_UNAVAILABLE` when there is none, or when
 * the key ring can't open it (spec 6.6).
 */
export async function resolveSigningSecret(sql: Sql, { accountId, keyring }: SigningSecretOptions): Promise<string> {
  const secret = (await resolveSigningSecrets(sql, { accountIds: [accountId], keyring })).get(accountId);
  if (secret === undefined || secret instanceof ServiceError)
    throw secret ?? new ServiceError('WEBHOOK_SECRET_UNAVAILABLE');
  return secret;
}

/** What signs now for each of these accounts; an account without any is missing, one that can't be opened an error. */
export async function resolveSigningSecrets(
  sql: Reader,
  { accountIds, keyring }: { accountIds: readonly string[]; keyring: Keyring },
): Promise<Map<string, string | ServiceError>> {
  if (accountIds.length === 0) return new Map();
  const newest = await query<{ id: string; accountId: string; ciphertext: string }>(
    sql,
    `SELECT DISTINCT ON (account_id) id, account_id AS "accountId", ciphertext FROM webhook_secrets
     WHERE account_id = ANY(:accountIds) AND status = 'active'
     ORDER BY account_id, created_at DESC, id DESC`,
    { accountIds },
  );
  return new Map(
    newest.map(({ id, accountId, ciphertext }) => {
      const binding = rowBinding({ table: TABLE, id, accountId });
      return [accountId, openOrError(() => openSecret(keyring, ciphertext, binding))];
    }),
  );
}

function openOrError(open: () => string): string | ServiceError {
  try {
    return open();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

export type InlineSecretOwner = { searchId: string; accountId: string };

/** Seals a search's own `webhook.secret` for its row. The rows of its deliveries hold a copy of the same text. */
export function sealInlineSecret(keyring: Keyring, secret: string, owner: InlineSecretOwner): string {
  return keyring.seal(secret, inlineBinding(owner));
}

/** Throws `WEBHOOK_SECRET_UNAVAILABLE` when the key ring can't open it. */
export function openInlineSecret(keyring: Keyring, ciphertext: string, owner: InlineSecretOwner): string {
  return openSecret(keyring, ciphertext, inlineBinding(owner));
}

// Bound to the search, not to the delivery: the lane that ends a capture copies the text, and so needs no key ring.
function inlineBinding({ searchId, accountId }: InlineSecretOwner): string {
  return rowBinding({ table: 'searches', id: searchId, accountId });
}

function openSecret(keyring: Keyring, ciphertext: string, binding: string): string {
  try {
    return keyring.open(ciphertext, binding);
  } catch (cause) {
    throw new ServiceError('WEBHOOK_SECRET_UNAVAILABLE', undefined, { cause });
  }
}
