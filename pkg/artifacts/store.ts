/**
 * Where the bytes of proof pages are. Keyed by the hash of the bytes: nothing a client sent becomes a name, and the
 * same page stored twice is stored once. Who may read which bytes is not known here: that is a row in Postgres.
 */
export type ArtifactStore = {
  put(sha256: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is nothing under that hash. */
  get(sha256: string): Promise<Uint8Array | null>;
  /** One real round trip; rejects when the store can't be used. */
  probe(): Promise<void>;
  close(): Promise<void>;
};

const SHA256 = /^[0-9a-f]{64}$/;

/** Throws unless it is a hash: the name becomes a path or a key, so nothing else may become one. */
export function assertHash(sha256: string): void {
  if (!SHA256.test(sha256)) throw new Error('an artifact is named by the hash of its bytes');
}
