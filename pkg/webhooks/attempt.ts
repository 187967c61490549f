import { classifyJobId, ServiceError } from '../contract/index.ts';
import type { Keyring } from '../config/index.ts';
import type { Clock } from '../runtime/index.ts';
import type { Connections } from './connections.ts';
import type { DueDelivery } from './due.ts';
import type { Guard } from './guard.ts';
import { LateError, postOnce } from './post.ts';
import { parseRetryAfter } from './schedule.ts';
import { openInlineSecret } from './secrets.ts';
import { sign } from './signature.ts';

export type AttemptOptions = {
  keyring: Keyring;
  guard: Guard;
  connections: Connections;
  clock: Clock;
  /** Of the whole exchange, once the name has been looked up. */
  totalTimeoutMs: number;
  maxResponseBytes: number;
};

export type AttemptResult =
  | { kind: 'answered'; status: number; retryAfterMs: number | undefined }
  /** No answer. `reached` is false where the receiver can't be blamed, because nothing was sent to it. */
  | { kind: 'unanswered'; error: string; reached: boolean }
  | { kind: 'stopped' };

/**
 * One attempt: vet the destination anew, sign anew, POST the frozen bytes. `managedSecret` signs where the delivery has
 * no secret of its own; null when there is none. Never throws for what the receiver does. Once `stop` is aborted nothing
 * more is sent, and what fails because its connection was cut is `stopped`.
 */
export async function attemptDelivery(
  options: AttemptOptions,
  delivery: DueDelivery,
  managedSecret: string | null,
  stop: AbortSignal,
): Promise<AttemptResult> {
  const { guard, connections, clock, maxResponseBytes, totalTimeoutMs } = options;
  const verdict = await guard.resolveDestination(delivery.url);
  if (verdict.kind !== 'allowed')
    return { kind: 'unanswered', error: `${verdict.kind}: ${verdict.reason}`, reached: false };
  if (isStopped(stop)) return { kind: 'stopped' };
  const { destination } = verdict;
  const secret = delivery.secretCiphertext === null ? managedSecret : openOwnSecret(options.keyring, delivery);
  if (secret === null) return { kind: 'unanswered', error: 'the signing secret is unavailable', reached: false };

  const body = Buffer.from(delivery.body, 'utf8');
  const timestampSeconds = Math.floor(clock.nowMs() / 1000);
  const request = {
    url: destination.url,
    headers: {
      'Content-Type': 'application/json',
      // What is read at most must not be a bomb that only unpacking makes big.
      'Accept-Encoding': 'identity',
      'User-Agent': 'search-capture-service',
      'X-Service-Timestamp': String(timestampSeconds),
      'X-Service-Signature': sign(secret, timestampSeconds, body),
    },
    body,
    timeoutMs: totalTimeoutMs,
    maxResponseBytes,
  };
  try {
    const { status, retryAfter } = await connections.use(delivery.accountId, destination, (dispatcher) =>
      postOnce(dispatcher, request),
    );
    return { kind: 'answered', status, retryAfterMs: parseRetryAfter(retryAfter, clock.nowMs()) };
  } catch (error) {
    if (isStopped(stop)) return { kind: 'stopped' };
    return { kind: 'unanswered', error: describe(error), reached: true };
  }
}

/** A function, because what was false before an await may be true after it. */
function isStopped(stop: AbortSignal): boolean {
  return stop.aborted;
}

function openOwnSecret(keyring: Keyring, { accountId, captureId, secretCiphertext }: DueDelivery): string | null {
  if (secretCiphertext === null) return null;
  try {
    return openInlineSecret(keyring, secretCiphertext, { accountId, searchId: searchOf(captureId) });
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

function searchOf(captureId: string): string {
  const [searchId = ''] = captureId.split('.');
  if (classifyJobId(searchId) !== 'parent') throw new Error(`"${captureId}" is not the id of a capture`);
  return searchId;
}

/** A code like ECONNREFUSED where there is one: messages may hold addresses of the operator's network. */
function describe(error: unknown): string {
  if (error instanceof LateError) return error.message;
  if (!(error instanceof Error)) return 'the request failed';
  return 'code' in error && typeof error.code === 'string'
    ? `the request failed (${error.code})`
    : 'the request failed';
}
