/** What went wrong, as far as a controller acts on it. */
export type Failure =
  /** 404: the object, or its kind, is not there. */
  | 'notFound'
  /** 409: someone else wrote first, or holds the field. */
  | 'conflict'
  /** 409 on create. */
  | 'alreadyExists'
  /** 400, 422: the request can't succeed as it is. */
  | 'invalid'
  /** 403: RBAC, quota or an admission policy. */
  | 'forbidden'
  /** 401: our credentials are not accepted. */
  | 'unauthorized'
  /** 410: the resource version or the continue token is too old. */
  | 'expired'
  /** 429, 503, 504: the API server wants us to come later. */
  | 'busy'
  /** No answer in time, or no connection. */
  | 'unreachable'
  /** We may not write: the lease was lost. */
  | 'notLeading'
  | 'other';

export type FieldProblem = { readonly field: string; readonly message: string };

type KubeErrorDetails = {
  failure: Failure;
  /** HTTP status, 0 where there was no answer. */
  status: number;
  reason?: string | undefined;
  retryAfterMs?: number | undefined;
  problems?: readonly FieldProblem[] | undefined;
  cause?: unknown;
};

/** A failed call to the API server. The message names the call and says what the server said, never headers or bodies. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly failure: Failure;
  readonly status: number;
  /** The machine-readable reason of the server's Status object. */
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Fields that the server refused, with its words. */
  readonly problems: readonly FieldProblem[];

  constructor(message: string, details: KubeErrorDetails) {
    super(message, { cause: details.cause });
    this.failure = details.failure;
    this.status = details.status;
    this.reason = details.reason;
    this.retryAfterMs = details.retryAfterMs;
    this.problems = details.problems ?? [];
  }
}

/** Thrown by a reconciler where trying again can't help before the object changes. Counted, not retried. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** True for a KubeError of one of these failures. */
export function isFailure(error: unknown, ...failures: readonly Failure[]): error is KubeError {
  return error instanceof KubeError && failures.includes(error.failure);
}

/**
 * What the loop does with an error of a reconciler: `terminal` waits for the next change of the object, `retry` comes
 * again with back-off, `quiet` also, but is no error: someone else wrote first, or we lead no more.
 */
export function judgeError(error: unknown): 'terminal' | 'retry' | 'quiet' {
  if (error instanceof TerminalError || isFailure(error, 'invalid')) return 'terminal';
  return isFailure(error, 'conflict', 'notLeading') ? 'quiet' : 'retry';
}
