/** The whole error catalogue (spec 7). Where a status code is chosen, it is chosen here. */
export const ERRORS = {
  AUTH_INVALID: {
    status: 401,
    retryable: false,
    means:
      'The API key is missing, malformed, wrong, revoked or unknown. It is sent as Authorization: Bearer <API key>.',
  },
  AUTH_MISSING: {
    status: 401,
    retryable: false,
    means: 'An account-management endpoint was called without the header Authorization: Bearer <API key>.',
  },
  SCOPE_FORBIDDEN: { status: 403, retryable: false, means: 'The API key is not scoped for this method.' },
  INSUFFICIENT_CREDITS: {
    status: 402,
    retryable: false,
    means: 'The balance is too low. A batch is refused as a whole.',
  },
  VALIDATION_FAILED: {
    status: 400,
    retryable: false,
    means: 'A field is invalid or unknown. The message names it and what is allowed.',
  },
  UNSUPPORTED_SURFACE: { status: 400, retryable: false, means: 'A value in surfaces is not a surface.' },
  UNSUPPORTED_METHOD_FOR_SURFACE: { status: 422, retryable: false, means: 'The surface has no live capture path.' },
  REGION_UNAVAILABLE: {
    status: 422,
    retryable: false,
    means: 'Reserved; never sent. A malformed country is VALIDATION_FAILED.',
  },
  TOO_MANY_REGIONS: { status: 422, retryable: false, means: 'More than 10 regions.' },
  QUERY_TOO_LONG: { status: 422, retryable: false, means: 'The query is longer than 2000 characters.' },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    retryable: false,
    means: 'The idempotencyKey was used before with a different body.',
  },
  JOB_NOT_FOUND: { status: 404, retryable: false, means: 'The job does not exist, or belongs to another tenant.' },
  WATCH_NOT_FOUND: {
    status: 404,
    retryable: false,
    means: 'The watch or run does not exist, or belongs to another tenant.',
  },
  WATCH_LIMIT_EXCEEDED: {
    status: 403,
    retryable: false,
    means: "The plan's ceiling of active watches would be exceeded.",
  },
  WATCH_INTERVAL_TOO_SHORT: {
    status: 422,
    retryable: false,
    means: "The schedule is below the plan's minimum interval.",
  },
  ARTIFACT_NOT_FOUND: {
    status: 404,
    retryable: false,
    means: 'The artifact does not exist, or belongs to another tenant.',
  },
  NOT_FOUND: { status: 404, retryable: false, means: 'The path does not exist.' },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, means: 'The path exists, but not for this HTTP method.' },
  RATE_LIMIT_EXCEEDED: { status: 429, retryable: true, means: 'Too many submits in this minute.' },
  CONCURRENCY_LIMIT_EXCEEDED: { status: 429, retryable: true, means: 'Too many synchronous captures in flight.' },
  QUEUE_CAPACITY_EXCEEDED: { status: 429, retryable: true, means: 'Too many captures are waiting in the queue.' },
  REQUEST_CANCELED: { status: 499, retryable: false, means: 'The job was canceled before it ended.' },
  ACQUISITION_FAILED: {
    status: 502,
    retryable: true,
    means: 'The capture failed at the surface after it was admitted.',
  },
  EMPTY_ANSWER: { status: 502, retryable: false, means: 'The assistant finished without text. Nothing was charged.' },
  UPSTREAM_BAD_GATEWAY: { status: 502, retryable: true, means: 'The surface gave a response that cannot be used.' },
  DRIVER_UNAVAILABLE: { status: 503, retryable: true, means: 'The capture lane of the surface is unavailable.' },
  SUBMISSION_FAILED: {
    status: 503,
    retryable: true,
    means: 'The work could not be stored durably. No job was created.',
  },
  WEBHOOK_SECRET_UNAVAILABLE: {
    status: 503,
    retryable: true,
    means: 'The managed signing secret cannot be resolved. Send webhook.secret.',
  },
  SURFACE_TIMEOUT: { status: 504, retryable: true, means: 'The capture did not finish in time.' },
  INTERNAL_ERROR: { status: 500, retryable: true, means: 'An unexpected error in the service.' },
} as const satisfies Record<string, { status: number; retryable: boolean; means: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** One invalid field: `path` like `items[3].regions[0].country`. */
export type FieldIssue = { path: string; message: string };

/** The flat body of every error (spec 7). */
export type ErrorBody = {
  code: ErrorCode;
  error: string;
  request_id: string;
  docs_url: string;
  details?: FieldIssue[];
};

export type ServiceErrorOptions = {
  details?: FieldIssue[];
  /** Response headers that belong to this error, for example `Retry-After`. */
  headers?: Record<string, string>;
  cause?: unknown;
};

/** An error that a caller of the service may see: everything else becomes `INTERNAL_ERROR` at the edge. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly details: FieldIssue[] | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string = ERRORS[code].means, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** A `VALIDATION_FAILED` whose message is that of its first issue, and counts the others. */
export function invalid(issues: readonly FieldIssue[]): ServiceError {
  const [first] = issues;
  if (first === undefined) throw new Error('a validation error needs at least one issue');
  const others = issues.length > 1 ? ` (and ${issues.length - 1} more, see details)` : '';
  return new ServiceError('VALIDATION_FAILED', `${first.message}${others}`, { details: [...issues] });
}
